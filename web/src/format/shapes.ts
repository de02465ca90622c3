// Shapes of inputs as people write them.

const isShape = (one: unknown): one is number[] => Array.isArray(one) && one.every((size) => typeof size === 'number')

/** `4096×1024, 1024` of `[[4096, 1024], [1024], []]`: numbers alone have no shape. What is no such list stays as it is. */
export function shapesText(shapes: string): string {
  let list: unknown
  try {
    list = JSON.parse(shapes)
  } catch {
    return shapes
  }
  if (!Array.isArray(list) || !list.every(isShape)) return shapes
  return list
    .filter((one) => one.length > 0)
    .map((one) => one.join('×'))
    .join(', ')
}
