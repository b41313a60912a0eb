//! Output of a program → its screen → what is drawn of it.
#![no_main]

#[path = "../screens/drive.rs"]
mod drive;
#[allow(dead_code)]
#[path = "../screens/scene.rs"]
mod scene;

libfuzzer_sys::fuzz_target!(|input: &[u8]| drive::drive(input));
