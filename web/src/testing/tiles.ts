// Tiles in the wire format, built by hand for the tests.

export interface Item {
  readonly row: number
  readonly x0: number
  readonly x1: number
  readonly id: number
  readonly name?: number
  readonly count?: number
  readonly fill?: number
  readonly kind?: number
}

/** The bytes of an answer with these tiles; `key` is the position in the request. */
export function encodeTiles(tiles: readonly { key: number; items: readonly Item[] }[]): ArrayBuffer {
  const head = 8 + 16 * tiles.length
  const sizes = tiles.map(({ items }) => Math.ceil((21 * items.length) / 4) * 4)
  const buffer = new ArrayBuffer(head + sizes.reduce((sum, size) => sum + size, 0))
  const view = new DataView(buffer)
  view.setUint32(0, 0x31545353, true)
  view.setUint32(4, tiles.length, true)
  let offset = head
  tiles.forEach(({ key, items }, n) => {
    ;[key, items.length, offset, 0].forEach((value, i) => view.setUint32(8 + 16 * n + 4 * i, value, true))
    let at = offset
    const column = (bytes: number, write: (at: number, item: Item) => void): void => {
      for (const item of items) {
        write(at, item)
        at += bytes
      }
    }
    column(4, (place, item) => view.setFloat32(place, item.x0, true))
    column(4, (place, item) => view.setFloat32(place, item.x1, true))
    column(4, (place, item) => view.setUint32(place, item.id, true))
    column(4, (place, item) => view.setUint32(place, item.name ?? 0, true))
    column(2, (place, item) => view.setUint16(place, item.count ?? 1, true))
    column(1, (place, item) => view.setUint8(place, item.row))
    column(1, (place, item) => view.setUint8(place, item.fill ?? 255))
    column(1, (place, item) => view.setUint8(place, item.kind ?? 0))
    offset += sizes[n] as number
  })
  return buffer
}
