// What lies over the colours of a heat map: lines between cells, what stands in them, and frames.

export interface Overlay {
  readonly width: number
  readonly height: number
  readonly rows: number
  readonly columns: number
  /** Between cells. */
  readonly ground: string
  readonly ink: string
  /** What stands in a cell, and its ink; null leaves it empty. */
  readonly label: (row: number, column: number) => { readonly text: string; readonly ink: string } | null
  /** Frames around whole columns. */
  readonly bands: readonly { readonly column: number; readonly colour: string }[]
  /** Frames, by the number of the cell; later ones lie over earlier ones. */
  readonly frames: readonly { readonly cell: number; readonly colour: string; readonly width: number }[]
}

/** Smaller cells are better told apart without lines between them. */
const LEAST_LINED = 10
const LEAST_LABELLED = 13
const FONT = '11px system-ui, sans-serif'
const MARGIN = 1
const BAND = 2
const BESIDE = 4
const LINE = 14

export function drawOverlay(context: CanvasRenderingContext2D, overlay: Overlay): void {
  const { rows, columns } = overlay
  const [wide, high] = [overlay.width / columns, overlay.height / rows]
  context.clearRect(0, 0, overlay.width, overlay.height)
  if (wide >= LEAST_LINED && high >= LEAST_LINED) {
    context.fillStyle = overlay.ground
    for (let row = 1; row < rows; row += 1) context.fillRect(0, Math.round(row * high), overlay.width, 1)
    for (let column = 1; column < columns; column += 1)
      context.fillRect(Math.round(column * wide), 0, 1, overlay.height)
  }
  const labelled = high >= LEAST_LABELLED && writeLabels(context, overlay, wide, high)
  for (const { column, colour } of overlay.bands) {
    context.strokeStyle = colour
    context.lineWidth = BAND
    const left = Math.max(BAND / 2, column * wide - BAND / 2)
    context.strokeRect(left, BAND / 2, Math.min(wide + BAND, overlay.width - left - BAND / 2), overlay.height - BAND)
  }
  for (const { cell, colour, width } of overlay.frames) {
    const [row, column] = [Math.floor(cell / columns), cell % columns]
    context.strokeStyle = colour
    context.lineWidth = width
    const inset = width / 2
    context.strokeRect(column * wide + inset, row * high + inset, wide - width, high - width)
  }
  if (labelled) return
  const framed = new Set(overlay.frames.map((one) => one.cell))
  for (const cell of framed)
    if (!framed.has(cell - 1)) writeBeside(context, overlay, Math.floor(cell / columns), cell % columns)
}

/** All or none: a few names among many cells would look like a choice. Whether there was room. */
function writeLabels(context: CanvasRenderingContext2D, overlay: Overlay, wide: number, high: number): boolean {
  context.font = FONT
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  const labels = Array.from({ length: overlay.rows * overlay.columns }, (_, cell) =>
    overlay.label(Math.floor(cell / overlay.columns), cell % overlay.columns),
  )
  const widest = Math.max(0, ...labels.map((one) => (one === null ? 0 : context.measureText(one.text).width)))
  if (widest + 2 * MARGIN > wide) return false
  labels.forEach((one, cell) => {
    if (one === null) return
    context.fillStyle = one.ink
    const [row, column] = [Math.floor(cell / overlay.columns), cell % overlay.columns]
    context.fillText(one.text, (column + 0.5) * wide, (row + 0.5) * high)
  })
  return true
}

/** The name of a framed cell that is too small for it, beside its frame. */
function writeBeside(context: CanvasRenderingContext2D, overlay: Overlay, row: number, column: number): void {
  const label = overlay.label(row, column)
  if (label === null) return
  const [wide, high] = [overlay.width / overlay.columns, overlay.height / overlay.rows]
  context.font = `bold ${FONT}`
  context.textBaseline = 'middle'
  const room = context.measureText(label.text).width + 2 * BESIDE
  const right = (column + 1) * wide
  const left = right + room <= overlay.width ? right : column * wide - room
  const middle = Math.min(Math.max((row + 0.5) * high, LINE / 2), overlay.height - LINE / 2)
  context.fillStyle = overlay.ground
  context.fillRect(left + 1, middle - LINE / 2, room - 2, LINE)
  context.fillStyle = overlay.ink
  context.textAlign = 'left'
  context.fillText(label.text, left + BESIDE, middle)
}
