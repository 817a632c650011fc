//! The part of bindgen_cuda's interface that candle-flash-attn's build scripts up to 0.9 use, and nothing behind it.
use std::path::PathBuf;

pub struct Error;

#[derive(Default)]
pub struct Builder;

impl Builder {
    pub fn kernel_paths<P: Into<PathBuf>>(self, _paths: Vec<P>) -> Self {
        self
    }

    pub fn out_dir<P: Into<PathBuf>>(self, _folder: P) -> Self {
        self
    }

    pub fn arg(self, _flag: &'static str) -> Self {
        self
    }

    pub fn build_lib<P: Into<PathBuf>>(self, _file: P) {}
}
