//! What clients need to use Countersign.

use crate::env::{TestEnv, stderr};

#[test]
fn the_variable_for_the_token_is_no_setting() {
    let env = TestEnv::new();
    let output = env.command(&["config", "check"]).env("COUNTERSIGN_TOKEN", "t").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}
