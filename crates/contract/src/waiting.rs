//! Where work may wait for the disk. Most threads serve many callers and must not; one that serves nobody else says so, and
//! whoever would hand work over to such a thread stays where it is.

use std::cell::Cell;

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Whether nobody else waits for this thread.
pub fn may_wait() -> bool {
    ALONE.get()
}

/// Does the work in a thread of which nobody else wants anything meanwhile.
pub fn where_it_may_wait<T>(work: impl FnOnce() -> T) -> T {
    /// However the work ends.
    struct Before(bool);

    impl Drop for Before {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }

    let _before = Before(ALONE.replace(true));
    work()
}

#[cfg(test)]
mod tests {
    use super::{may_wait, where_it_may_wait};

    #[test]
    fn it_holds_for_the_work_and_no_longer() {
        assert!(!may_wait());
        assert!(where_it_may_wait(|| where_it_may_wait(may_wait) && may_wait()));
        let broken = std::panic::catch_unwind(|| where_it_may_wait(|| panic!("broken")));
        assert!(broken.is_err() && !may_wait());
    }
}
