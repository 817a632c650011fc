//! Adds results that wait on two handles of one device, and on a device and the processor: `add cpu|cuda|metal SEED`.
//!
//! Nothing is read before the addition: what reads a tensor also makes the device finish it. Prints one JSON line for each case.
#![allow(warnings)]

#[path = "shared/common.rs"]
mod common;

use common::{open, quoted};
use candle_core::{DType, Device, Result, Tensor};

/// From a few values to more than a device finishes while the next command is given.
const SIZES: [usize; 4] = [4, 1 << 10, 1 << 16, 1 << 20];

fn said(case: &str, how: &str, detail: &str) {
    println!("{{\"case\":\"{case}\",\"how\":\"{how}\",\"detail\":{}}}", quoted(detail));
}

/// A result that nothing has waited for: ones, and a number added to them on their device.
fn pending(number: f64, size: usize, device: &Device) -> Result<Tensor> {
    Tensor::ones(size, DType::F32, device)? + number
}

/// The first value that is not the sum, with its place.
fn differing(one: &Device, other: &Device, first: f64, second: f64, size: usize) -> Result<Option<(usize, f32)>> {
    let (left, right) = (pending(first, size, one)?, pending(second, size, other)?);
    let values = left.add(&right)?.to_vec1::<f32>()?;
    let sum = (first + second + 2.0) as f32;
    Ok(values.iter().position(|value| *value != sum).map(|place| (place, values[place])))
}

fn tried(case: &str, one: &Device, other: &Device, seed: u64) {
    let (first, second) = ((seed % 13 + 1) as f64, (seed % 89 + 20) as f64);
    for size in SIZES {
        match differing(one, other, first, second, size) {
            Err(error) => return said(case, "error", &error.to_string()),
            Ok(Some((place, value))) => {
                let (left, right) = (first + 1.0, second + 1.0);
                let dropped = if value as f64 == left || value as f64 == right { ": one operand is lost" } else { "" };
                let detail = format!("value {place} of {size} is {value}, expected {left} + {right}{dropped}");
                return said(case, "wrong", &detail);
            }
            Ok(None) => {}
        }
    }
    said(case, "right", "")
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (name, seed) = (arguments[1].as_str(), arguments[2].parse().expect("a seed"));
    let (one, other) = match (open(name), open(name)) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(error), _) | (_, Err(error)) => {
            println!("{{\"no_device\":{}}}", quoted(&error.to_string()));
            return;
        }
    };
    tried("one-handle", &one, &one, seed);
    tried("two-handles", &one, &other, seed);
    if name != "cpu" {
        tried("cpu-and-device", &Device::Cpu, &one, seed);
    }
}
