//! Multiplies views of every layout and compares with products computed here in f64: `matmul cpu|cuda|metal SEED`.
//!
//! Prints one JSON line before each group of products and one after it. All values are small integers, so every product is
//! exact in every type, and what differs at all is wrong.
#![allow(warnings)]

#[path = "shared/common.rs"]
mod common;

use common::{open, quoted};
use candle_core::{DType, Device, Result, Tensor};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// A tensor, and the same view of the same numbers that candle has no part in.
struct Operand {
    tensor: Tensor,
    numbers: Vec<f64>,
    shape: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum View {
    /// As it was made.
    Plain,
    /// Made with its last two dimensions the other way round.
    Transposed,
    /// Columns out of a wider one.
    Columns,
    /// Rows out of a taller one.
    Rows,
    /// Some of a longer batch.
    Part,
    /// Made as (batch, rows, heads, columns), the way attention makes it.
    Heads,
    /// Made with its first two dimensions the other way round.
    Swapped,
    /// One of the batch stands for all.
    Spread,
}

use View::*;

struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) % 7) as f64 - 3.0
    }
}

impl Operand {
    fn new(draw: &mut Draw, shape: &[usize], dtype: DType, device: &Device) -> Result<Self> {
        let count: usize = shape.iter().product();
        let numbers: Vec<f64> = (0..count).map(|_| draw.next()).collect();
        let values: Vec<f32> = numbers.iter().map(|&value| value as f32).collect();
        let tensor = Tensor::from_vec(values, shape.to_vec(), device)?.to_dtype(dtype)?;
        let mut strides = vec![1; shape.len()];
        for dim in (1..shape.len()).rev() {
            strides[dim - 1] = strides[dim] * shape[dim];
        }
        Ok(Self { tensor, numbers, shape: shape.to_vec(), strides, offset: 0 })
    }

    fn swap(mut self, one: usize, other: usize) -> Result<Self> {
        self.tensor = self.tensor.transpose(one, other)?;
        self.shape.swap(one, other);
        self.strides.swap(one, other);
        Ok(self)
    }

    fn narrow(mut self, dim: usize, start: usize, length: usize) -> Result<Self> {
        self.tensor = self.tensor.narrow(dim, start, length)?;
        self.offset += start * self.strides[dim];
        self.shape[dim] = length;
        Ok(self)
    }

    fn spread(mut self, dim: usize, length: usize) -> Result<Self> {
        self.shape[dim] = length;
        self.strides[dim] = 0;
        self.tensor = self.tensor.broadcast_as(self.shape.clone())?;
        Ok(self)
    }

    fn contiguous(mut self) -> Result<Self> {
        self.tensor = self.tensor.contiguous()?;
        Ok(self)
    }

    fn at(&self, batch: &[usize], row: usize, column: usize) -> f64 {
        let rank = self.shape.len();
        let inner = row * self.strides[rank - 2] + column * self.strides[rank - 1];
        let outer: usize = batch.iter().zip(&self.strides).map(|(index, stride)| index * stride).sum();
        self.numbers[self.offset + outer + inner]
    }
}

/// Makes an operand of a shape that is a view of something else; None where that shape has no such view.
fn made(view: View, shape: &[usize], draw: &mut Draw, dtype: DType, device: &Device) -> Result<Option<Operand>> {
    let rank = shape.len();
    let mut whole = shape.to_vec();
    let operand = match view {
        Plain => Operand::new(draw, shape, dtype, device)?,
        Transposed => {
            whole.swap(rank - 2, rank - 1);
            Operand::new(draw, &whole, dtype, device)?.swap(rank - 2, rank - 1)?
        }
        Columns | Rows => {
            let dim = if view == Columns { rank - 1 } else { rank - 2 };
            whole[dim] += 3;
            Operand::new(draw, &whole, dtype, device)?.narrow(dim, 1, shape[dim])?
        }
        Part if rank > 2 => {
            whole[0] += 2;
            Operand::new(draw, &whole, dtype, device)?.narrow(0, 1, shape[0])?
        }
        Heads if rank > 3 => {
            whole.swap(rank - 3, rank - 2);
            Operand::new(draw, &whole, dtype, device)?.swap(rank - 3, rank - 2)?
        }
        Swapped if rank > 3 => {
            whole.swap(0, 1);
            Operand::new(draw, &whole, dtype, device)?.swap(0, 1)?
        }
        Spread if rank > 2 => {
            whole[0] = 1;
            Operand::new(draw, &whole, dtype, device)?.spread(0, shape[0])?
        }
        _ => return Ok(None),
    };
    Ok(Some(operand))
}

fn product(left: &Operand, right: &Operand) -> Vec<f64> {
    let rank = left.shape.len();
    let (rows, inner, columns) = (left.shape[rank - 2], left.shape[rank - 1], right.shape[rank - 1]);
    let batches: usize = left.shape[..rank - 2].iter().product();
    let mut out = Vec::with_capacity(batches * rows * columns);
    for number in 0..batches {
        let (mut rest, mut batch) = (number, vec![0; rank - 2]);
        for dim in (0..rank - 2).rev() {
            batch[dim] = rest % left.shape[dim];
            rest /= left.shape[dim];
        }
        for row in 0..rows {
            for column in 0..columns {
                out.push((0..inner).map(|k| left.at(&batch, row, k) * right.at(&batch, k, column)).sum());
            }
        }
    }
    out
}

enum Got {
    Right,
    Refused(String),
    Wrong(String),
}

fn tried(left: &Operand, right: &Operand) -> Got {
    let multiply = || left.tensor.matmul(&right.tensor)?.to_dtype(DType::F32)?.to_device(&Device::Cpu)?.flatten_all()?.to_vec1::<f32>();
    let values = match catch_unwind(AssertUnwindSafe(multiply)) {
        Ok(Ok(values)) => values,
        Ok(Err(error)) => return Got::Refused(error.to_string()),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|said| said.to_string()));
            return Got::Wrong(format!("it panicked: {}", said.unwrap_or_default()));
        }
    };
    let wanted = product(left, right);
    if values.len() != wanted.len() {
        return Got::Wrong(format!("{} values, {} expected", values.len(), wanted.len()));
    }
    match wanted.iter().zip(&values).position(|(want, got)| *want != *got as f64) {
        Some(place) => Got::Wrong(format!("value {place} is {}, expected {}", values[place], wanted[place])),
        None => Got::Right,
    }
}

/// How a group of products went: how many were right, refused and wrong, and the first of each of the latter.
#[derive(Default)]
struct Tally {
    right: usize,
    refused: usize,
    wrong: usize,
    first_refused: String,
    first_wrong: String,
}

impl Tally {
    fn add(&mut self, got: Got, what: &str) {
        match got {
            Got::Right => self.right += 1,
            Got::Refused(said) => {
                self.refused += 1;
                if self.refused == 1 {
                    self.first_refused = format!("{what}: {said}");
                }
            }
            Got::Wrong(said) => {
                self.wrong += 1;
                if self.wrong == 1 {
                    self.first_wrong = format!("{what}: {said}");
                }
            }
        }
    }
}

const BATCHES: [&[usize]; 7] = [&[], &[1], &[3], &[1, 1], &[1, 3], &[3, 1], &[2, 3]];
const DEEP: [&[usize]; 3] = [&[1, 1, 1], &[2, 1, 3], &[2, 2, 2]];
/// Rows, what is summed over, columns.
const SIZES: [(usize, usize, usize); 3] = [(4, 4, 2), (5, 3, 4), (9, 17, 6)];
/// The same with a dimension of one, of which every stride is a right one.
const THIN: [(usize, usize, usize); 4] = [(1, 5, 3), (4, 1, 2), (3, 4, 1), (1, 1, 1)];

struct Group {
    name: &'static str,
    left: &'static [View],
    right: &'static [View],
    batches: &'static [&'static [usize]],
    sizes: &'static [(usize, usize, usize)],
    copied: bool,
    /// One of the two has to be among these.
    about: &'static [View],
}

const ALL: &[View] = &[Plain, Transposed, Columns, Rows, Part, Heads, Swapped, Spread];
/// All that have a stride of their own in every dimension.
const OWN: &[View] = &[Plain, Transposed, Columns, Rows, Part, Heads, Swapped];
const FLAT: &[View] = &[Plain, Transposed];

const GROUPS: [Group; 10] = [
    Group { name: "plain", left: &[Plain], right: &[Plain], batches: &BATCHES, sizes: &SIZES, copied: false, about: ALL },
    Group { name: "contiguous-copy", left: ALL, right: ALL, batches: &BATCHES, sizes: &SIZES, copied: true, about: ALL },
    Group { name: "contiguous-copy", left: ALL, right: ALL, batches: &BATCHES, sizes: &THIN, copied: true, about: ALL },
    Group { name: "transposed", left: FLAT, right: FLAT, batches: &BATCHES, sizes: &SIZES, copied: false, about: &[Transposed] },
    Group { name: "sliced", left: OWN, right: OWN, batches: &BATCHES, sizes: &SIZES, copied: false, about: &[Columns, Rows, Part] },
    Group { name: "batched", left: OWN, right: OWN, batches: &BATCHES, sizes: &SIZES, copied: false, about: &[Heads, Swapped] },
    Group { name: "thin", left: OWN, right: OWN, batches: &BATCHES, sizes: &THIN, copied: false, about: ALL },
    Group { name: "broadcast", left: ALL, right: ALL, batches: &BATCHES, sizes: &SIZES, copied: false, about: &[Spread] },
    Group { name: "broadcast", left: ALL, right: ALL, batches: &BATCHES, sizes: &THIN, copied: false, about: &[Spread] },
    Group { name: "rank-5", left: OWN, right: OWN, batches: &DEEP, sizes: &SIZES, copied: false, about: ALL },
];

fn multiplied(group: &Group, dtype: DType, device: &Device, draw: &mut Draw, tally: &mut Tally) -> Result<()> {
    // Types share the code that reads layouts: the first has the whole grid, the others a part of it.
    let few = |batch: &[usize]| dtype == DType::F32 || [&[][..], &[1, 1], &[2, 3], &[2, 1, 3]].contains(&batch);
    for batch in group.batches.iter().filter(|batch| few(batch)) {
        for &(rows, inner, columns) in group.sizes {
            for &one in group.left {
                for &other in group.right {
                    if !group.about.contains(&one) && !group.about.contains(&other) {
                        continue;
                    }
                    let (shape, turned) = ([batch, &[rows, inner][..]].concat(), [batch, &[inner, columns][..]].concat());
                    let pair = (made(one, &shape, draw, dtype, device)?, made(other, &turned, draw, dtype, device)?);
                    let (Some(mut left), Some(mut right)) = pair else { continue };
                    if group.copied {
                        (left, right) = (left.contiguous()?, right.contiguous()?);
                    }
                    let copied = if group.copied { ", both made contiguous" } else { "" };
                    let what = format!("{dtype:?} {one:?} {shape:?} x {other:?} {turned:?}{copied}");
                    tally.add(tried(&left, &right), &what);
                }
            }
        }
    }
    Ok(())
}

/// The views of the report that this canary is named after: one head, made contiguous, and yet refused.
fn founding(device: &Device, draw: &mut Draw, tally: &mut Tally) -> Result<()> {
    for (tokens, width) in [(4, 2), (64, 16)] {
        let left = Operand::new(draw, &[1, 1, tokens, tokens], DType::F32, device)?;
        let right = Operand::new(draw, &[1, tokens, 1, width], DType::F32, device)?.swap(1, 2)?.contiguous()?;
        let what = format!("F32 [1, 1, {tokens}, {tokens}] x [1, {tokens}, 1, {width}].transpose(1, 2).contiguous()");
        tally.add(tried(&left, &right), &what);
    }
    Ok(())
}

/// Which types this device multiplies at all; of each of the others, what it says.
fn types(device: &Device) -> Vec<(DType, Option<String>)> {
    let known = [DType::F32, DType::F64, DType::F16, DType::BF16];
    known
        .into_iter()
        .map(|dtype| {
            let two = || -> Result<Vec<f32>> {
                let one = Tensor::ones((2, 2), DType::F32, device)?.to_dtype(dtype)?;
                one.matmul(&one)?.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()
            };
            (dtype, two().err().map(|error| error.to_string()))
        })
        .collect()
}

fn run(device: &Device, seed: u64) -> Result<()> {
    let mut draw = Draw(seed | 1);
    for (dtype, refusal) in types(device) {
        if let Some(said) = refusal {
            println!("{{\"type\":\"{dtype:?}\",\"refused\":{}}}", quoted(&said));
            if dtype != DType::F32 {
                continue;
            }
        }
        for group in &GROUPS {
            println!("{{\"begin\":\"{}\",\"type\":\"{dtype:?}\"}}", group.name);
            let mut tally = Tally::default();
            if group.name == "contiguous-copy" && dtype == DType::F32 {
                founding(device, &mut draw, &mut tally)?;
            }
            multiplied(group, dtype, device, &mut draw, &mut tally)?;
            println!(
                "{{\"case\":\"{}\",\"type\":\"{dtype:?}\",\"right\":{},\"refused\":{},\"wrong\":{},\"first_refused\":{},\"first_wrong\":{}}}",
                group.name,
                tally.right,
                tally.refused,
                tally.wrong,
                quoted(&tally.first_refused),
                quoted(&tally.first_wrong)
            );
        }
    }
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let done = match open(&arguments[1]) {
        Ok(device) => run(&device, arguments[2].parse().expect("a seed")),
        Err(error) => {
            println!("{{\"no_device\":{}}}", quoted(&error.to_string()));
            return;
        }
    };
    if let Err(error) = done {
        println!("{{\"error\":{}}}", quoted(&error.to_string()));
    }
}
