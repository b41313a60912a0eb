//! Where things are: the split tree of a tab, and the rectangles that come of it.
//!
//! Neighbours share a border line. A split of `n` columns therefore divides `n - 1` strides; a part with stride `s`
//! is `s + 1` wide with its borders, and `s - 1` inside.

use super::view_model::Area;
use serde::{Deserialize, Serialize};

/// A pane, within the model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PaneId(pub u32);

/// How the parts of a split lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Axis {
    /// Side by side.
    Across,
    /// One below the other.
    Down,
}

/// Towards which side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// To the left.
    Left,
    /// Downwards.
    Down,
    /// Upwards.
    Up,
    /// To the right.
    Right,
}

impl Direction {
    /// The axis on which it moves.
    #[must_use]
    pub fn axis(self) -> Axis {
        match self {
            Self::Left | Self::Right => Axis::Across,
            Self::Up | Self::Down => Axis::Down,
        }
    }

    /// Whether it moves towards the end of its axis.
    #[must_use]
    pub fn forward(self) -> bool {
        matches!(self, Self::Right | Self::Down)
    }
}

/// Least strides: two columns (the emulator cannot do with one, a wide character needs two) and one line inside.
fn least(axis: Axis) -> u16 {
    match axis {
        Axis::Across => 3,
        Axis::Down => 2,
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Node {
    Leaf(PaneId),
    /// At least two parts; none of them a split of the same axis.
    Split {
        axis: Axis,
        parts: Vec<(Node, u32)>,
    },
}

/// The border between two parts of a split, found under the mouse.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Border {
    path: Vec<usize>,
    before: usize,
    /// How the parts lie that it separates.
    pub axis: Axis,
}

/// The panes of a tab.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tree {
    root: Node,
}

impl Tree {
    /// A tab with one pane.
    #[must_use]
    pub fn new(pane: PaneId) -> Self {
        Self { root: Node::Leaf(pane) }
    }

    /// Its panes in reading order.
    #[must_use]
    pub fn panes(&self) -> Vec<PaneId> {
        let mut out = Vec::new();
        self.root.collect(&mut out);
        out
    }

    /// Whether it is one that splitting and closing can make: one that was read from a file need not be.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let mut panes = self.panes();
        let all = panes.len();
        panes.sort_unstable();
        panes.dedup();
        panes.len() == all && self.root.is_sound(None, 0)
    }

    /// Whether a pane is in it.
    #[must_use]
    pub fn contains(&self, pane: PaneId) -> bool {
        self.root.contains(pane)
    }

    /// Whether every pane has room for its least size.
    #[must_use]
    pub fn fits(&self, area: Area) -> bool {
        area.width > self.root.least(Axis::Across) && area.height > self.root.least(Axis::Down)
    }

    /// The outer rectangle of each pane, borders included. Only true to the least sizes where the tree
    /// [fits](Tree::fits); elsewhere nothing is zero-sized as long as there are cells at all.
    #[must_use]
    pub fn areas(&self, area: Area) -> Vec<(PaneId, Area)> {
        let mut out = Vec::new();
        self.root.place(area, &mut out);
        out
    }

    /// Puts a new pane beside or below another, which gives half of its room. False if that is not here.
    pub fn split(&mut self, at: PaneId, axis: Axis, new: PaneId) -> bool {
        self.root.split(at, axis, new)
    }

    /// Takes a pane out; its neighbours get its room. False if it is not here or the last one.
    pub fn remove(&mut self, pane: PaneId) -> bool {
        if !self.contains(pane) || self.root == Node::Leaf(pane) {
            return false;
        }
        self.root.remove(pane);
        true
    }

    /// Exchanges two panes.
    pub fn swap(&mut self, a: PaneId, b: PaneId) {
        self.root.rename(&|p| {
            if p == a {
                b
            } else if p == b {
                a
            } else {
                p
            }
        });
    }

    /// Gives every part of every split the same weight for each pane in it.
    pub fn even_out(&mut self) {
        self.root.even_out();
    }

    /// Moves the border of a pane by `cells`: its far border, or the near one where it is the last part.
    /// False if there is no such border or no room.
    pub fn resize(&mut self, pane: PaneId, direction: Direction, cells: u16, area: Area) -> bool {
        let Some((path, index, len, part)) = self.root.nearest_split(pane, direction.axis(), area, Vec::new()) else {
            return false;
        };
        let before = if index + 1 < len { index } else { index - 1 };
        let delta = if direction.forward() { i32::from(cells) } else { -i32::from(cells) };
        self.root.move_border(&path, before, delta, part)
    }

    /// The border under a cell.
    #[must_use]
    pub fn border_at(&self, area: Area, x: u16, y: u16) -> Option<Border> {
        self.root.border_at(area, x, y, &mut Vec::new())
    }

    /// Drags a border to a cell, as far as there is room. False if nothing changed.
    pub fn drag(&mut self, border: &Border, area: Area, x: u16, y: u16) -> bool {
        let Some((node, part)) = self.root.at(&border.path, area) else { return false };
        let Node::Split { axis, parts } = node else { return false };
        let Some(edge) = edges(*axis, parts, part).get(border.before).map(|(_, end)| *end) else { return false };
        let to = match axis {
            Axis::Across => x,
            Axis::Down => y,
        };
        let delta = i32::from(to) - i32::from(edge);
        delta != 0 && self.root.move_border(&border.path, border.before, delta, part)
    }

    /// The pane that lies on that side of another, level with `(x, y)` where several do.
    #[must_use]
    pub fn neighbour(&self, pane: PaneId, direction: Direction, area: Area) -> Option<PaneId> {
        let areas = self.areas(area);
        let from = areas.iter().find(|(p, _)| *p == pane)?.1;
        let (cx, cy) = (from.x + from.width / 2, from.y + from.height / 2);
        let touches = |a: &Area| match direction {
            Direction::Left => a.x + a.width == from.x + 1,
            Direction::Right => a.x + 1 == from.x + from.width,
            Direction::Up => a.y + a.height == from.y + 1,
            Direction::Down => a.y + 1 == from.y + from.height,
        };
        // Distance of the middle of `from` to the side, zero where level with it.
        let away = |a: &Area| {
            let (at, start, len) = match direction.axis() {
                Axis::Across => (cy, a.y, a.height),
                Axis::Down => (cx, a.x, a.width),
            };
            if at < start { start - at } else { (at + 1).saturating_sub(start + len) }
        };
        let overlaps = |a: &Area| match direction.axis() {
            Axis::Across => a.y + 1 < from.y + from.height && from.y + 1 < a.y + a.height,
            Axis::Down => a.x + 1 < from.x + from.width && from.x + 1 < a.x + a.width,
        };
        areas
            .iter()
            .filter(|(p, a)| *p != pane && touches(a) && overlaps(a))
            .min_by_key(|(_, a)| away(a))
            .map(|(p, _)| *p)
    }
}

/// First and last line or column of each part.
fn edges(axis: Axis, parts: &[(Node, u32)], area: Area) -> Vec<(u16, u16)> {
    let (start, len) = match axis {
        Axis::Across => (area.x, area.width),
        Axis::Down => (area.y, area.height),
    };
    let mins: Vec<u16> = parts.iter().map(|(n, _)| n.least(axis)).collect();
    let weights: Vec<u32> = parts.iter().map(|(_, w)| *w).collect();
    let mut at = start;
    divide(len.saturating_sub(1), &weights, &mins)
        .into_iter()
        .map(|stride| {
            let from = at;
            at = at.saturating_add(stride);
            (from, at)
        })
        .collect()
}

/// Divides `total` by weight, none below its least as long as there is enough for all. The sum is always `total`.
fn divide(total: u16, weights: &[u32], mins: &[u16]) -> Vec<u16> {
    let n = weights.len();
    let needed: u32 = mins.iter().map(|m| u32::from(*m)).sum();
    if needed > u32::from(total) {
        return shares(total, &mins.iter().map(|m| u64::from(*m)).collect::<Vec<_>>());
    }
    // Parts whose share is below their least are given it; the others divide the rest.
    let mut fixed = vec![false; n];
    loop {
        let left: u16 = total - mins.iter().zip(&fixed).filter(|(_, f)| **f).map(|(m, _)| *m).sum::<u16>();
        let open: Vec<u64> =
            weights.iter().zip(&fixed).map(|(w, f)| if *f { 0 } else { u64::from((*w).max(1)) }).collect();
        let given = shares(left, &open);
        let short = (0..n).find(|i| !fixed[*i] && given[*i] < mins[*i]);
        match short {
            Some(i) => fixed[i] = true,
            None => return (0..n).map(|i| if fixed[i] { mins[i] } else { given[i] }).collect(),
        }
    }
}

/// Whole-number shares by weight, with the sum exact: rounding carries over from part to part.
fn shares(total: u16, weights: &[u64]) -> Vec<u16> {
    let sum: u64 = weights.iter().sum::<u64>().max(1);
    let mut seen = 0u64;
    let mut given = 0u64;
    weights
        .iter()
        .map(|w| {
            seen += w;
            let upto = (u64::from(total) * seen + sum / 2) / sum;
            let share = upto - given;
            given = upto;
            u16::try_from(share).unwrap_or(u16::MAX)
        })
        .collect()
}

/// No screen has room for a tree that is deeper.
const DEEPEST: usize = 64;

impl Node {
    fn is_sound(&self, within: Option<Axis>, depth: usize) -> bool {
        match self {
            Self::Leaf(_) => true,
            Self::Split { axis, parts } => {
                let part = |(node, weight): &(Self, u32)| *weight > 0 && node.is_sound(Some(*axis), depth + 1);
                Some(*axis) != within && depth < DEEPEST && parts.len() >= 2 && parts.iter().all(part)
            }
        }
    }

    fn collect(&self, out: &mut Vec<PaneId>) {
        match self {
            Self::Leaf(p) => out.push(*p),
            Self::Split { parts, .. } => parts.iter().for_each(|(n, _)| n.collect(out)),
        }
    }

    fn contains(&self, pane: PaneId) -> bool {
        match self {
            Self::Leaf(p) => *p == pane,
            Self::Split { parts, .. } => parts.iter().any(|(n, _)| n.contains(pane)),
        }
    }

    /// Least number of strides on an axis.
    fn least(&self, on: Axis) -> u16 {
        match self {
            Self::Leaf(_) => least(on),
            Self::Split { axis, parts } => {
                let each = parts.iter().map(|(n, _)| n.least(on));
                if *axis == on { each.fold(0, u16::saturating_add) } else { each.max().unwrap_or(0) }
            }
        }
    }

    fn parts_of(&self, area: Area) -> Vec<Area> {
        let Self::Split { axis, parts } = self else { return Vec::new() };
        edges(*axis, parts, area)
            .into_iter()
            .map(|(from, to)| match axis {
                Axis::Across => Area { x: from, width: to - from + 1, ..area },
                Axis::Down => Area { y: from, height: to - from + 1, ..area },
            })
            .collect()
    }

    fn place(&self, area: Area, out: &mut Vec<(PaneId, Area)>) {
        match self {
            Self::Leaf(p) => out.push((*p, area)),
            Self::Split { parts, .. } => {
                for ((node, _), part) in parts.iter().zip(self.parts_of(area)) {
                    node.place(part, out);
                }
            }
        }
    }

    fn split(&mut self, at: PaneId, axis: Axis, new: PaneId) -> bool {
        match self {
            Self::Leaf(p) if *p == at => {
                *self = Self::Split { axis, parts: vec![(Self::Leaf(at), 1), (Self::Leaf(new), 1)] };
                true
            }
            Self::Leaf(_) => false,
            Self::Split { axis: own, parts } => {
                if *own == axis
                    && let Some(i) = parts.iter().position(|(n, _)| *n == Self::Leaf(at))
                {
                    // Doubled first, so that halving loses nothing.
                    parts.iter_mut().for_each(|(_, w)| *w = w.saturating_mul(2));
                    let half = (parts[i].1 / 2).max(1);
                    parts[i].1 = half;
                    parts.insert(i + 1, (Self::Leaf(new), half));
                    bound(parts);
                    return true;
                }
                parts.iter_mut().any(|(n, _)| n.split(at, axis, new))
            }
        }
    }

    fn remove(&mut self, pane: PaneId) {
        let Self::Split { axis, parts } = self else { return };
        parts.retain(|(n, _)| *n != Self::Leaf(pane));
        parts.iter_mut().for_each(|(n, _)| n.remove(pane));
        // A part that became a split of the same axis is dissolved into this one.
        let mut flat = Vec::new();
        for (node, weight) in std::mem::take(parts) {
            match node {
                Self::Split { axis: inner, parts: own } if inner == *axis => {
                    let sum: u64 = own.iter().map(|(_, w)| u64::from(*w)).sum::<u64>().max(1);
                    flat.extend(own.into_iter().map(|(n, w)| {
                        let share = u64::from(weight) * 16 * u64::from(w) / sum;
                        (n, u32::try_from(share).unwrap_or(u32::MAX).max(1))
                    }));
                }
                other => flat.push((other, weight.saturating_mul(16))),
            }
        }
        bound(&mut flat);
        if flat.len() == 1
            && let Some((only, _)) = flat.pop()
        {
            *self = only;
        } else {
            *parts = flat;
        }
    }

    fn rename(&mut self, f: &impl Fn(PaneId) -> PaneId) {
        match self {
            Self::Leaf(p) => *p = f(*p),
            Self::Split { parts, .. } => parts.iter_mut().for_each(|(n, _)| n.rename(f)),
        }
    }

    /// Number of panes along an axis.
    fn count(&self, on: Axis) -> u32 {
        match self {
            Self::Leaf(_) => 1,
            Self::Split { axis, parts } if *axis == on => parts.iter().map(|(n, _)| n.count(on)).sum(),
            Self::Split { parts, .. } => parts.iter().map(|(n, _)| n.count(on)).max().unwrap_or(1),
        }
    }

    fn even_out(&mut self) {
        let Self::Split { axis, parts } = self else { return };
        for (node, weight) in parts {
            *weight = node.count(*axis);
            node.even_out();
        }
    }

    /// The innermost split on an axis that a pane is in: path to it, index of the part, number of parts, its area.
    fn nearest_split(
        &self,
        pane: PaneId,
        on: Axis,
        area: Area,
        path: Vec<usize>,
    ) -> Option<(Vec<usize>, usize, usize, Area)> {
        let Self::Split { axis, parts } = self else { return None };
        let index = parts.iter().position(|(n, _)| n.contains(pane))?;
        let part = *self.parts_of(area).get(index)?;
        let mut deeper = path.clone();
        deeper.push(index);
        parts[index]
            .0
            .nearest_split(pane, on, part, deeper)
            .or_else(|| (*axis == on).then_some((path, index, parts.len(), area)))
    }

    fn at(&self, path: &[usize], area: Area) -> Option<(&Self, Area)> {
        let Some((first, rest)) = path.split_first() else { return Some((self, area)) };
        let Self::Split { parts, .. } = self else { return None };
        parts.get(*first)?.0.at(rest, *self.parts_of(area).get(*first)?)
    }

    fn at_mut(&mut self, path: &[usize]) -> Option<&mut Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let Self::Split { parts, .. } = self else { return None };
        parts.get_mut(*first)?.0.at_mut(rest)
    }

    /// Moves the border after part `before` of the split at `path`, which covers `area`. Parts further away give way
    /// when the next one is at its least.
    fn move_border(&mut self, path: &[usize], before: usize, delta: i32, area: Area) -> bool {
        let Some(Self::Split { axis, parts }) = self.at_mut(path) else { return false };
        if before + 1 >= parts.len() {
            return false;
        }
        let mut strides: Vec<i32> =
            edges(*axis, parts, area).iter().map(|(from, to)| i32::from(*to) - i32::from(*from)).collect();
        let mins: Vec<i32> = parts.iter().map(|(n, _)| i32::from(n.least(*axis))).collect();
        let (gains, gives): (usize, Vec<usize>) = if delta > 0 {
            (before, (before + 1..parts.len()).collect())
        } else {
            (before + 1, (0..=before).rev().collect())
        };
        let mut wanted = delta.abs();
        for i in gives {
            let taken = wanted.min((strides[i] - mins[i]).max(0));
            strides[i] -= taken;
            strides[gains] += taken;
            wanted -= taken;
        }
        if wanted == delta.abs() {
            return false;
        }
        for ((_, weight), stride) in parts.iter_mut().zip(strides) {
            *weight = u32::try_from(stride).unwrap_or(1).max(1);
        }
        true
    }

    fn border_at(&self, area: Area, x: u16, y: u16, path: &mut Vec<usize>) -> Option<Border> {
        let Self::Split { axis, parts } = self else { return None };
        let areas = self.parts_of(area);
        let (at, side, from, len) = match axis {
            Axis::Across => (x, y, area.y, area.height),
            Axis::Down => (y, x, area.x, area.width),
        };
        if side < from || side >= from.saturating_add(len) {
            return None;
        }
        for (i, (from, to)) in edges(*axis, parts, area).into_iter().enumerate() {
            if at == to && i + 1 < parts.len() {
                return Some(Border { path: path.clone(), before: i, axis: *axis });
            }
            if at > from && at < to {
                path.push(i);
                return parts[i].0.border_at(areas[i], x, y, path);
            }
        }
        None
    }
}

/// Keeps weights small enough for arithmetic, whatever is split how often.
fn bound(parts: &mut [(Node, u32)]) {
    while parts.iter().any(|(_, w)| *w > 1 << 20) {
        parts.iter_mut().for_each(|(_, w)| *w = (*w / 16).max(1));
    }
}

/// What is inside the borders.
#[must_use]
pub fn inner(area: Area) -> Area {
    Area {
        x: area.x.saturating_add(1),
        y: area.y.saturating_add(1),
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(2),
    }
}

/// Whether a cell lies in a rectangle.
#[must_use]
pub fn within(area: Area, x: u16, y: u16) -> bool {
    x >= area.x && y >= area.y && x - area.x < area.width && y - area.y < area.height
}
