//! The part of anyhow's interface that candle-flash-attn's build scripts use, and nothing behind it.
use std::fmt::{Debug, Display};

#[derive(Debug)]
pub struct Error(pub String);

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        Error(error.to_string())
    }
}

pub trait Context<T> {
    fn context<C: Display>(self, said: C) -> Result<T>;
}

impl<T, E: Debug> Context<T> for std::result::Result<T, E> {
    fn context<C: Display>(self, said: C) -> Result<T> {
        self.map_err(|error| Error(format!("{said}: {error:?}")))
    }
}

impl<T> Context<T> for Option<T> {
    fn context<C: Display>(self, said: C) -> Result<T> {
        self.ok_or_else(|| Error(said.to_string()))
    }
}
