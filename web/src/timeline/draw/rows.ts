// Slices: rasterised lines, stretched to their rows, and their labels.
import { LabelList, TextFitter } from '../labels'
import { paintRow, type Lines, type RowPaint } from '../raster'
import { blockOf, hasRows, type Box } from '../layout'
import { spanOf, tileRange } from '../tiles/key'
import type { Tile } from '../tiles/codec'
import type { StandIn } from '../tiles/cache'
import { rankSpan, rankX, type Frame, type PlacedBox } from './frame'

interface LineOf {
  readonly row: number
  readonly line: number
}

interface BlockLines {
  readonly rank: number
  readonly block: number
  readonly lines: LineOf[]
}

interface Strip {
  readonly placed: PlacedBox
  readonly firstLine: number
  readonly lines: number
  readonly top: number
}

/** Lanes and causes of idle time: each name of a lane's tile is a colour of its own. */
const LANE_CODES = Uint8Array.from({ length: 256 }, (_, code) => code)
const LABEL_ROW = 12
const CHECK_PIXELS = 6

export interface RowStatistics {
  walked: number
  lines: number
  missing: number
}

export class RowPainter {
  #lines: Lines = { width: 0, pixels: new Uint32Array(0), cover: new Uint8Array(0) }
  #image: ImageData | null = null
  readonly #scratch = document.createElement('canvas')
  readonly #labels = new LabelList()
  #fitter: TextFitter | null = null
  #fitterFont = ''
  readonly statistics: RowStatistics = { walked: 0, lines: 0, missing: 0 }

  /** Draw the slices of these boxes; the context is clipped and scaled to CSS pixels. */
  draw(
    context: CanvasRenderingContext2D,
    frame: Frame,
    boxes: readonly PlacedBox[],
    top: number,
    bottom: number,
  ): void {
    const { strips, blocks, total } = assign(boxes, top, bottom)
    this.statistics.lines += total
    if (total === 0) return
    const width = Math.max(1, Math.round(frame.width * frame.ratio))
    this.#prepare(width, total, frame.theme.backgroundPixel)
    this.#labels.reset(total)
    for (const block of blocks.values()) this.#paintBlock(frame, block)
    this.#stretch(context, frame, strips, total)
    this.#write(context, frame, strips)
  }

  #prepare(width: number, total: number, background: number): void {
    if (this.#lines.width !== width || this.#lines.pixels.length < width * total) {
      const rows = Math.ceil(total / 64) * 64
      const bytes = new Uint8ClampedArray(width * rows * 4)
      this.#image = new ImageData(bytes, width, rows)
      this.#lines = { width, pixels: new Uint32Array(bytes.buffer), cover: new Uint8Array(width * rows) }
      this.#scratch.width = width
      this.#scratch.height = rows
    }
    this.#lines.pixels.fill(background, 0, width * total)
    this.#lines.cover.fill(0, 0, width * total)
  }

  #paintBlock(frame: Frame, block: BlockLines): void {
    const span = rankSpan(frame, block.rank)
    const [first, last] = tileRange(span, frame.level)
    for (let index = first; index <= last; index += 1) {
      const wanted = spanOf(frame.level, index)
      const clipStart = clampPixel(rankX(frame, block.rank, wanted.start) * frame.ratio, this.#lines.width)
      const clipEnd = clampPixel(rankX(frame, block.rank, wanted.end) * frame.ratio, this.#lines.width)
      if (clipStart >= clipEnd) continue
      const standIns = frame.tiles.standIns(block.rank, block.block, frame.level, index)
      if (standIns.length === 0) this.#check(block, clipStart, clipEnd, frame.theme.missingPixel)
      for (const standIn of standIns) this.#paintTile(frame, block, standIn, clipStart, clipEnd)
    }
  }

  #paintTile(frame: Frame, block: BlockLines, standIn: StandIn<Tile>, clipStart: number, clipEnd: number): void {
    const { theme } = frame
    const model = frame.model.ranks.get(block.rank)
    const isLanes = block.block < 0
    const byKind = frame.colourBy === 'kind' && !isLanes
    const palette = isLanes ? theme.lanes : byKind ? theme.kinds : theme.names
    const own = spanOf(standIn.level, standIn.index)
    const start = Math.round(rankX(frame, block.rank, own.start) * frame.ratio)
    const end = Math.round(rankX(frame, block.rank, own.end) * frame.ratio)
    const shared = {
      scale: (2 ** standIn.level / frame.view.nsPerPixel) * frame.ratio,
      origin: rankX(frame, block.rank, own.start) * frame.ratio,
      clipStart: Math.max(clipStart, Math.min(start, this.#lines.width)),
      clipEnd: Math.min(clipEnd, Math.max(end, 0)),
      colours: isLanes ? LANE_CODES : (model?.colours ?? LANE_CODES),
      kindColours: byKind ? KIND_CODES : null,
      table: palette.table,
      dimmed: palette.dimmed,
      bright: isLanes ? null : (model?.bright ?? null),
      brightKinds: isLanes ? null : frame.model.brightKinds,
      brightLengths: isLanes ? null : lengthsInBins(frame.model.brightDurations, standIn.level),
      // Lanes show how much, not what: a sliver of idle time must look like one.
      leastCover: isLanes ? 0 : undefined,
      edge: theme.backgroundPixel,
    }
    for (const { row, line } of block.lines) {
      const paint: RowPaint = { ...shared, line }
      this.statistics.walked += paintRow(this.#lines, standIn.tile, row, paint, this.#labels)
    }
  }

  /** A checkerboard where nothing is known yet. */
  #check(block: BlockLines, from: number, to: number, pixel: number): void {
    this.statistics.missing += 1
    for (const { line } of block.lines) {
      const base = line * this.#lines.width
      for (let x = from; x < to; x += 1) {
        if ((((x / CHECK_PIXELS) | 0) + line) % 2 === 0) this.#lines.pixels[base + x] = pixel
      }
    }
  }

  #stretch(context: CanvasRenderingContext2D, frame: Frame, strips: readonly Strip[], total: number): void {
    const scratch = this.#scratch.getContext('2d')
    if (!scratch || !this.#image) return
    scratch.putImageData(this.#image, 0, 0, 0, 0, this.#lines.width, total)
    context.imageSmoothingEnabled = false
    for (const { placed, firstLine, lines, top } of strips) {
      const height = lines * placed.box.rowHeight
      context.drawImage(this.#scratch, 0, firstLine, this.#lines.width, lines, 0, top, frame.width, height)
      if (placed.box.rowHeight < 6) continue
      // A hairline between rows keeps depths apart.
      context.fillStyle = frame.theme.lane
      for (let line = 1; line <= lines; line += 1)
        context.fillRect(0, top + line * placed.box.rowHeight - 1, frame.width, 1)
    }
  }

  #write(context: CanvasRenderingContext2D, frame: Frame, strips: readonly Strip[]): void {
    const font = `11px ${frame.theme.font}`
    context.font = font
    context.textBaseline = 'middle'
    if (!this.#fitter || this.#fitterFont !== font) {
      this.#fitter = new TextFitter((text) => context.measureText(text).width)
      this.#fitterFont = font
    }
    const fitter = this.#fitter
    let at = 0
    const stripOf = linesToStrips(strips)
    this.#labels.each((line, x0, x1, colour, name) => {
      const strip = strips[stripOf[line] ?? -1]
      if (!strip || strip.placed.box.rowHeight < LABEL_ROW || strip.placed.box.kind !== 'track') return
      const { box } = strip.placed
      const left = x0 / frame.ratio
      const text = fitter.fit(frame.model.label(box.rank, name), x1 / frame.ratio - left)
      if (!text) return
      const dimmed = frame.model.ranks.get(box.rank)?.bright?.[name] === 0
      const palette = frame.colourBy === 'kind' ? frame.theme.kinds : frame.theme.names
      context.fillStyle = dimmed ? frame.theme.inkSoft : (palette.ink[colour] ?? frame.theme.ink)
      context.fillText(text, left + 4, strip.top + (line - strip.firstLine + 0.5) * box.rowHeight)
      at += 1
    })
    this.labelsDrawn = at
  }

  labelsDrawn = 0
}

/** Durations in ns as lengths in bins of a level. */
function lengthsInBins(
  durations: { readonly least: number; readonly most: number } | null,
  level: number,
): { readonly least: number; readonly most: number } | null {
  return durations && { least: durations.least / 2 ** level, most: durations.most / 2 ** level }
}

const KIND_CODES = Uint8Array.from({ length: 256 }, (_, kind) => kind)

/** Give every visible row a line of pixels, and gather the rows of one block. */
function assign(
  boxes: readonly PlacedBox[],
  top: number,
  bottom: number,
): { strips: Strip[]; blocks: Map<string, BlockLines>; total: number } {
  const strips: Strip[] = []
  const blocks = new Map<string, BlockLines>()
  let total = 0
  for (const placed of boxes) {
    const { box } = placed
    if (!hasRows(box)) continue
    const firstRow = Math.max(0, Math.floor((top - placed.top) / box.rowHeight))
    const lastRow = Math.min(box.rows - 1, Math.ceil((bottom - placed.top) / box.rowHeight))
    if (lastRow < firstRow) continue
    strips.push({ placed, firstLine: total, lines: lastRow - firstRow + 1, top: placed.top + firstRow * box.rowHeight })
    for (let row = box.firstRow + firstRow; row <= box.firstRow + lastRow; row += 1) {
      lineInto(blocks, box, row, total)
      total += 1
    }
  }
  return { strips, blocks, total }
}

function lineInto(blocks: Map<string, BlockLines>, box: Box, row: number, line: number): void {
  const block = blockOf(box, row)
  const key = `${box.rank}/${block}`
  let entry = blocks.get(key)
  if (!entry) {
    entry = { rank: box.rank, block, lines: [] }
    blocks.set(key, entry)
  }
  entry.lines.push({ row: row & 15, line })
}

function linesToStrips(strips: readonly Strip[]): Int32Array {
  const last = strips.at(-1)
  const map = new Int32Array(last ? last.firstLine + last.lines : 0)
  strips.forEach((strip, index) => map.fill(index, strip.firstLine, strip.firstLine + strip.lines))
  return map
}

function clampPixel(x: number, width: number): number {
  return Math.min(width, Math.max(0, Math.round(x)))
}
