// The boxes of a flame graph: widths by time, callers above whom they call, what is too thin to see left out.
import type { Flame } from '../api/timeline'

export interface FlameBox {
  readonly node: number
  readonly left: number
  readonly width: number
  readonly line: number
}

const LEAST_PIXELS = 1.5

/** `root` fills the width and its callers stand above it; null shows the whole tree. */
export function flameBoxes(flame: Flame, root: number | null, width: number): FlameBox[] {
  const children = new Map<number | null, number[]>()
  flame.nodes.forEach((node, index) => {
    const siblings = children.get(node.parent)
    if (siblings) siblings.push(index)
    else children.set(node.parent, [index])
  })
  const total = (node: number): number => flame.nodes[node]?.total_ns ?? 0
  for (const siblings of children.values()) siblings.sort((a, b) => total(b) - total(a))
  const callers: number[] = []
  for (let node = root; node !== null; node = flame.nodes[node]?.parent ?? null) callers.unshift(node)
  const boxes = callers.map((node, line): FlameBox => ({ node, left: 0, width, line }))
  const scale = width / Math.max(1, root === null ? flame.total_ns : total(root))
  const place = (parent: number | null, from: number, line: number): void => {
    let left = from
    for (const node of children.get(parent) ?? []) {
      const own = total(node) * scale
      if (own < LEAST_PIXELS) break
      boxes.push({ node, left, width: own, line })
      place(node, left, line + 1)
      left += own
    }
  }
  place(root, 0, callers.length)
  return boxes
}
