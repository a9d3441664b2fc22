//! Whether the signs and the score of the net are enough together: small trees that
//! data/grounding/weigh.py has grown, each of which asks two questions and adds a little to the balance.

use std::sync::LazyLock;

use super::signs::Sign;

static TREES: LazyLock<Vec<Tree>> =
    LazyLock::new(|| include_str!("../../data/grounding/trees.txt").lines().filter_map(Tree::read).collect());

/// How far a score counts.
const SCORE_MAX: f32 = 4.0;
/// Where, in cross-validation over all four sets, still more than .90 of the claims that are carried are kept (.908): what
/// is shown wrongly does more harm than what is dropped, so no more than that. Of the others, .943 are caught.
const ENOUGH: f32 = 0.228;

pub(super) fn enough(score: f32, signs: &[Sign]) -> bool {
    let values: Vec<f32> =
        std::iter::once(score.clamp(-SCORE_MAX, SCORE_MAX)).chain(signs.iter().map(|sign| sign.value)).collect();
    TREES.iter().map(|tree| tree.adds(&values)).sum::<f32>() > ENOUGH
}

/// Which value is asked for, the score being the first, and up to where the answer is the left one.
#[derive(Debug, Clone, Copy)]
struct Question {
    value: usize,
    up_to: f32,
}

#[derive(Debug)]
struct Tree {
    first: Question,
    left: Question,
    right: Question,
    adds: [f32; 4],
}

impl Tree {
    /// Ten numbers; a line with anything else is a comment.
    fn read(line: &str) -> Option<Self> {
        let numbers: Vec<f32> = line.split_whitespace().map_while(|number| number.parse().ok()).collect();
        let (asked, adds) = numbers.split_at_checked(6)?;
        let question = |pair: &[f32; 2]| {
            let value = (0..u16::MAX).find(|at| f32::from(*at) >= pair[0])?;
            Some(Question { value: usize::from(value), up_to: pair[1] })
        };
        let questions: Vec<Question> = asked.as_chunks::<2>().0.iter().map(question).collect::<Option<_>>()?;
        let [first, left, right] = questions.try_into().ok()?;
        Some(Self { first, left, right, adds: adds.try_into().ok()? })
    }

    fn adds(&self, values: &[f32]) -> f32 {
        let goes_left = |question: Question| values.get(question.value).is_none_or(|value| *value <= question.up_to);
        let [left_left, left_right, right_left, right_right] = self.adds;
        match (goes_left(self.first), goes_left(self.left), goes_left(self.right)) {
            (true, true, _) => left_left,
            (true, false, _) => left_right,
            (false, _, true) => right_left,
            (false, _, false) => right_right,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_but_the_comments_is_a_tree() {
        let text = include_str!("../../data/grounding/trees.txt");
        assert_eq!(TREES.len(), text.lines().filter(|line| !line.starts_with('#')).count());
        assert!(TREES.iter().flat_map(|tree| [tree.first, tree.left, tree.right]).all(|asked| asked.value < 30));
    }

    #[test]
    fn a_tree_asks_two_questions() {
        let tree = Tree::read("0 1.5 1 0.5 2 0.5 1 2 3 4").unwrap();
        for (values, adds) in
            [([1.0, 0.0, 0.0], 1.0), ([1.0, 1.0, 0.0], 2.0), ([2.0, 0.0, 0.0], 3.0), ([2.0, 0.0, 1.0], 4.0)]
        {
            assert!((tree.adds(&values) - adds).abs() < f32::EPSILON, "{values:?}");
        }
    }
}
