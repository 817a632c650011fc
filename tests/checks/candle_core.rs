//! As much of candle-core as doctor's programs use, right in all it does; tests put faults into it by changing a line.
use std::fmt;
use std::ops::Add;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

pub struct Error(String);
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

fn refuse<T>(said: impl Into<String>) -> Result<T> {
    Err(Error(said.into()))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DType {
    F16,
    BF16,
    F32,
    F64,
}

/// A handle of the one accelerator there is: two of them share nothing but the hardware.
#[derive(Clone, Debug, PartialEq)]
pub enum Device {
    Cpu,
    Metal { handle: usize },
}

static HANDLES: AtomicUsize = AtomicUsize::new(0);

impl Device {
    pub fn new_cuda(_: usize) -> Result<Self> {
        refuse("the candle crate has not been built with cuda support")
    }

    pub fn new_metal(_: usize) -> Result<Self> {
        Ok(Device::Metal { handle: HANDLES.fetch_add(1, Ordering::SeqCst) })
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

pub trait Shape {
    fn dims(self) -> Vec<usize>;
}

impl Shape for Vec<usize> {
    fn dims(self) -> Vec<usize> {
        self
    }
}

impl Shape for usize {
    fn dims(self) -> Vec<usize> {
        vec![self]
    }
}

impl Shape for (usize, usize) {
    fn dims(self) -> Vec<usize> {
        vec![self.0, self.1]
    }
}

pub trait Number {
    fn of(value: f64) -> Self;
}

impl Number for f32 {
    fn of(value: f64) -> Self {
        value as f32
    }
}

#[derive(Clone)]
pub struct Tensor {
    values: Arc<Vec<f64>>,
    shape: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
    dtype: DType,
    device: Device,
    /// Asked for and not computed yet: whoever reads it through another handle reads zeros.
    pending: bool,
}

fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim] * shape[dim];
    }
    strides
}

impl Tensor {
    fn new(values: Vec<f64>, shape: Vec<usize>, like: (DType, Device)) -> Self {
        let strides = row_major(&shape);
        Tensor { values: Arc::new(values), shape, strides, offset: 0, dtype: like.0, device: like.1, pending: false }
    }

    pub fn from_vec(values: Vec<f32>, shape: impl Shape, device: &Device) -> Result<Self> {
        Ok(Self::new(values.into_iter().map(f64::from).collect(), shape.dims(), (DType::F32, device.clone())))
    }

    pub fn ones(shape: impl Shape, dtype: DType, device: &Device) -> Result<Self> {
        let shape = shape.dims();
        Ok(Self::new(vec![1.0; shape.iter().product()], shape, (dtype, device.clone())))
    }

    pub fn to_dtype(&self, dtype: DType) -> Result<Self> {
        Ok(Tensor { dtype, ..self.clone() })
    }

    pub fn to_device(&self, device: &Device) -> Result<Self> {
        Ok(Tensor { device: device.clone(), pending: false, ..self.clone() })
    }

    pub fn transpose(&self, one: usize, other: usize) -> Result<Self> {
        let mut turned = self.clone();
        turned.shape.swap(one, other);
        turned.strides.swap(one, other);
        Ok(turned)
    }

    pub fn narrow(&self, dim: usize, start: usize, length: usize) -> Result<Self> {
        let mut part = self.clone();
        part.offset += start * self.strides[dim];
        part.shape[dim] = length;
        Ok(part)
    }

    pub fn broadcast_as(&self, shape: impl Shape) -> Result<Self> {
        let mut wide = self.clone();
        for (dim, length) in shape.dims().into_iter().enumerate() {
            if wide.shape[dim] != length {
                wide.shape[dim] = length;
                wide.strides[dim] = 0;
            }
        }
        Ok(wide)
    }

    fn is_contiguous(&self) -> bool {
        self.offset == 0 && self.strides == row_major(&self.shape)
    }

    pub fn contiguous(&self) -> Result<Self> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        Ok(Self::new(self.read(), self.shape.clone(), (self.dtype, self.device.clone())))
    }

    pub fn flatten_all(&self) -> Result<Self> {
        let values = self.read();
        let count = values.len();
        Ok(Self::new(values, vec![count], (self.dtype, self.device.clone())))
    }

    pub fn to_vec1<T: Number>(&self) -> Result<Vec<T>> {
        Ok(self.read().into_iter().map(T::of).collect())
    }

    fn read(&self) -> Vec<f64> {
        let count: usize = self.shape.iter().product();
        let place = |number: usize| {
            let (mut rest, mut place) = (number, self.offset);
            for dim in (0..self.shape.len()).rev() {
                place += rest % self.shape[dim] * self.strides[dim];
                rest /= self.shape[dim];
            }
            place
        };
        (0..count).map(|number| self.values[place(number)]).collect()
    }

    pub fn matmul(&self, other: &Self) -> Result<Self> {
        let rank = self.shape.len();
        if rank > 4 {
            return refuse("MatMulUnexpectedStriding: non-contiguous lhs");
        }
        let (rows, inner, columns) = (self.shape[rank - 2], self.shape[rank - 1], other.shape[rank - 1]);
        let (left, right) = (self.read(), other.read());
        let batches = left.len() / (rows * inner);
        let mut values = Vec::new();
        for batch in 0..batches {
            for row in 0..rows {
                for column in 0..columns {
                    let one = |k: usize| left[(batch * rows + row) * inner + k] * right[(batch * inner + k) * columns + column];
                    values.push((0..inner).map(one).sum());
                }
            }
        }
        let shape = [&self.shape[..rank - 1], &[columns]].concat();
        Ok(Self::new(values, shape, (self.dtype, self.device.clone())))
    }

    pub fn add(&self, other: &Self) -> Result<Self> {
        if !self.device.same(&other.device) {
            return refuse(format!("device mismatch in add, lhs: {:?}, rhs: {:?}", self.device, other.device));
        }
        let seen = |value: f64| if other.pending && self.device != other.device { 0.0 } else { value };
        let values = self.read().into_iter().zip(other.read()).map(|(one, two)| one + seen(two)).collect();
        Ok(Self::new(values, self.shape.clone(), (self.dtype, self.device.clone())))
    }
}

impl Add<f64> for Tensor {
    type Output = Result<Tensor>;

    fn add(self, number: f64) -> Result<Tensor> {
        let values = self.read().into_iter().map(|value| value + number).collect();
        let sum = Tensor::new(values, self.shape, (self.dtype, self.device.clone()));
        Ok(Tensor { pending: self.device != Device::Cpu, ..sum })
    }
}
