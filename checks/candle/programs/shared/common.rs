//! What the programs share: opening a device by its name, and text as JSON has it.

use candle_core::{Device, Result};

pub fn open(name: &str) -> Result<Device> {
    match name {
        "cuda" => Device::new_cuda(0),
        "metal" => Device::new_metal(0),
        _ => Ok(Device::Cpu),
    }
}

pub fn quoted(said: &str) -> String {
    let mut out = String::from("\"");
    for letter in said.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if (letter as u32) < 0x20 => out.push(' '),
            letter => out.push(letter),
        }
    }
    out + "\""
}
