//! Vectors in a quarter of their size: rows of bytes with one scale each, compared with a question's vector at the
//! speed of memory. What is lost is two digits after the point; the best are compared again with their full vectors.

/// Largest absolute value in a row.
const ROW_MAX: f32 = 127.0;

/// Largest absolute value in a probe: 127 × 4,095 × 4,096 dimensions still fits into an `i32`.
const PROBE_MAX: f32 = 4095.0;

/// Values that are multiplied in one step, so that the compiler can use wide registers.
const LANES: usize = 16;

/// Vectors of one document's chunks, in their order; a chunk may have none yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    dimensions: usize,
    values: Vec<i8>,
    /// 0 where there is no vector.
    scales: Vec<f32>,
    /// How long the sum of all vectors is: with the sum of their cosines it gives that of their middle.
    sum_length: f32,
}

/// A question's vector, ready to be compared with rows.
#[derive(Debug, Clone)]
pub struct Probe {
    values: Vec<i16>,
    scale: f32,
}

impl Rows {
    pub fn without_vectors(rows: usize) -> Self {
        Self { scales: vec![0.0; rows], ..Self::default() }
    }

    /// A copy that has these vectors as well, of length 1 and each for one of its rows. What cannot be compared with
    /// the others, because it has another dimension or no direction, is left out.
    #[must_use]
    pub fn with(&self, vectors: &[(usize, &[f32])]) -> Self {
        let mut rows = self.clone();
        for &(row, vector) in vectors {
            if rows.dimensions == 0 {
                rows.dimensions = vector.len();
                rows.values = vec![0; vector.len() * rows.len()];
            }
            rows.put(row, vector);
        }
        rows.sum_length = rows.length_of_sum();
        rows
    }

    pub fn len(&self) -> usize {
        self.scales.len()
    }

    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    pub fn has(&self, row: usize) -> bool {
        self.scales.get(row).is_some_and(|&scale| scale > 0.0)
    }

    /// The cosine of each row and the probe is given to `take`; rows without a vector are left out. Returns that of the
    /// middle of all rows.
    pub(crate) fn scan(&self, probe: &Probe, mut take: impl FnMut(usize, f32)) -> f32 {
        if self.dimensions == 0 || self.dimensions != probe.values.len() {
            return 0.0;
        }
        let mut sum = 0.0;
        for (row, (values, &scale)) in self.values.chunks_exact(self.dimensions).zip(&self.scales).enumerate() {
            if scale > 0.0 {
                let cosine = to_f32(dot(values, &probe.values)) * scale * probe.scale;
                sum += cosine;
                take(row, cosine);
            }
        }
        if self.sum_length > 0.0 { sum / self.sum_length } else { 0.0 }
    }

    fn put(&mut self, row: usize, vector: &[f32]) {
        let scale = largest(vector) / ROW_MAX;
        let start = row * self.dimensions;
        let place = self.values.get_mut(start..start + self.dimensions);
        if let Some(place) = place.filter(|place| place.len() == vector.len() && scale > 0.0) {
            place.iter_mut().zip(vector).for_each(|(place, value)| *place = to_i8(value / scale));
            self.scales[row] = scale;
        }
    }

    fn length_of_sum(&self) -> f32 {
        let mut sum = vec![0.0; self.dimensions];
        for (values, &scale) in self.values.chunks_exact(self.dimensions.max(1)).zip(&self.scales) {
            sum.iter_mut().zip(values).for_each(|(sum, &value)| *sum += f32::from(value) * scale);
        }
        cosine(&sum, &sum).sqrt()
    }
}

impl Probe {
    pub fn new(vector: &[f32]) -> Self {
        let scale = largest(vector) / PROBE_MAX;
        if scale > 0.0 {
            Self { values: vector.iter().map(|value| to_i16(value / scale)).collect(), scale }
        } else {
            Self { values: vec![0; vector.len()], scale: 0.0 }
        }
    }
}

/// Of two vectors of length 1 of the same model; 0 when they cannot be compared.
pub(crate) fn cosine(one: &[f32], other: &[f32]) -> f32 {
    if one.len() == other.len() { one.iter().zip(other).map(|(one, other)| one * other).sum() } else { 0.0 }
}

/// Fixed-size steps let the compiler multiply eight pairs at once on every x86-64, and more where there is more.
fn dot(row: &[i8], probe: &[i16]) -> i32 {
    let (rows, probes) = (row.chunks_exact(LANES), probe.chunks_exact(LANES));
    let rest: i32 = rows.remainder().iter().zip(probes.remainder()).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
    let mut sum = 0;
    for (row, probe) in rows.zip(probes) {
        let mut step = 0;
        for lane in 0..LANES {
            step += i32::from(i16::from(row[lane])) * i32::from(probe[lane]);
        }
        sum += step;
    }
    sum + rest
}

/// 0 for a vector that says nothing: of zeros, or with a value that is no number.
fn largest(vector: &[f32]) -> f32 {
    if vector.iter().all(|value| value.is_finite()) {
        vector.iter().fold(0.0, |largest, value| f32::max(largest, value.abs()))
    } else {
        0.0
    }
}

#[expect(clippy::cast_possible_truncation, reason = "divided by the scale, it is within ±127; beyond, it saturates")]
fn to_i8(value: f32) -> i8 {
    value.round() as i8
}

#[expect(clippy::cast_possible_truncation, reason = "divided by the scale, it is within ±4,095; beyond, it saturates")]
fn to_i16(value: f32) -> i16 {
    value.round() as i16
}

#[expect(clippy::cast_precision_loss, reason = "a cosine needs four digits")]
fn to_f32(sum: i32) -> f32 {
    sum as f32
}

#[cfg(test)]
mod tests {
    use super::{Probe, Rows, cosine};

    #[test]
    fn cosines_are_close_to_exact_ones() {
        let vectors: Vec<Vec<f32>> = (0..50).map(|seed| unit(seed, 384)).collect();
        let question = unit(99, 384);
        let numbered: Vec<(usize, &[f32])> = vectors.iter().map(Vec::as_slice).enumerate().collect();
        let rows = Rows::without_vectors(50).with(&numbered);
        let mut seen = 0;
        rows.scan(&Probe::new(&question), |row, approximate| {
            let exact = cosine(&vectors[row], &question);
            assert!((approximate - exact).abs() < 0.005, "{row}: {approximate} {exact}");
            seen += 1;
        });
        assert_eq!(seen, 50);
    }

    #[test]
    fn the_middle_of_one_vector_is_itself() {
        let vector = unit(1, 19);
        let middle = Rows::without_vectors(1).with(&[(0, &vector)]).scan(&Probe::new(&vector), |_, _| {});
        assert!((middle - 1.0).abs() < 0.01, "{middle}");
    }

    #[test]
    fn vectors_come_one_after_the_other() {
        let rows = Rows::without_vectors(3);
        assert_eq!((rows.len(), having(&rows)), (3, vec![]));
        let rows = rows.with(&[(2, &unit(1, 8))]);
        assert_eq!(having(&rows), [2]);
        let rows = rows.with(&[(0, &unit(2, 8))]);
        assert_eq!((rows.has(0), rows.has(1), having(&rows)), (true, false, vec![0, 2]));
        rows.scan(&Probe::new(&unit(2, 9)), |_, _| panic!("another dimension"));
    }

    #[test]
    fn what_cannot_be_compared_is_no_vector() {
        let rows = Rows::without_vectors(4).with(&[
            (0, &unit(1, 8)),
            (1, &unit(1, 9)),
            (2, &[0.0; 8]),
            (3, &[f32::NAN; 8]),
            (4, &unit(1, 8)),
        ]);
        assert_eq!(having(&rows), [0]);
    }

    fn having(rows: &Rows) -> Vec<usize> {
        let mut seen = Vec::new();
        rows.scan(&Probe::new(&unit(2, 8)), |row, _| seen.push(row));
        seen
    }

    /// The same for the same seed.
    fn unit(seed: u32, dimensions: u32) -> Vec<f32> {
        let value = |at: u32| f64::from((seed * 7919 + at * 104_729) % 2003) / 1001.5 - 1.0;
        let length = (0..dimensions).map(|at| value(at).powi(2)).sum::<f64>().sqrt();
        #[expect(clippy::cast_possible_truncation, reason = "between -1 and 1")]
        let vector = (0..dimensions).map(|at| (value(at) / length) as f32).collect();
        vector
    }
}
