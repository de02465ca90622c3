// Names on slices. A slice that spans several tiles arrives once per tile and is labelled once.
import { LABEL_PIXELS, type LabelSink } from './raster'
import { tellingName } from './shortName'

const MOST_LABELS = 3000
const PADDING = 4
/** Fewer letters than this before the ellipsis say nothing. */
const LEAST_LETTERS = 2

export class LabelList implements LabelSink {
  #line = new Int32Array(MOST_LABELS)
  #x0 = new Float32Array(MOST_LABELS)
  #x1 = new Float32Array(MOST_LABELS)
  #id = new Uint32Array(MOST_LABELS)
  #colour = new Uint8Array(MOST_LABELS)
  #name = new Uint32Array(MOST_LABELS)
  #lastOfLine = new Int32Array(0)
  size = 0

  reset(lines: number): void {
    this.size = 0
    if (this.#lastOfLine.length < lines) this.#lastOfLine = new Int32Array(lines * 2)
    this.#lastOfLine.fill(-1)
  }

  add(line: number, x0: number, x1: number, id: number, colour: number, name: number): void {
    const last = this.#lastOfLine[line] ?? -1
    if (last >= 0 && this.#id[last] === id && Math.abs((this.#x1[last] as number) - x0) < 1.5) {
      this.#x1[last] = x1
      return
    }
    if (this.size >= MOST_LABELS) return
    const at = this.size
    this.#line[at] = line
    this.#x0[at] = x0
    this.#x1[at] = x1
    this.#id[at] = id
    this.#colour[at] = colour
    this.#name[at] = name
    this.#lastOfLine[line] = at
    this.size += 1
  }

  /** Call back for every label with room for at least one letter. */
  each(visit: (line: number, x0: number, x1: number, colour: number, name: number) => void): void {
    for (let i = 0; i < this.size; i += 1) {
      const x0 = this.#x0[i] as number
      const x1 = this.#x1[i] as number
      if (x1 - x0 >= LABEL_PIXELS)
        visit(this.#line[i] as number, x0, x1, this.#colour[i] as number, this.#name[i] as number)
    }
  }
}

/** Texts cut to a width, with remembered measurements: measuring is what drawing labels costs. */
export class TextFitter {
  readonly #widths = new Map<string, number>()

  constructor(private readonly measure: (text: string) => number) {}

  /** The text, or what tells it from others, or the beginning of that with an ellipsis, or nothing. */
  fit(whole: string, pixels: number): string {
    const room = pixels - 2 * PADDING
    if (this.#width(whole) <= room) return whole
    const text = tellingName(whole)
    const width = this.#width(text)
    if (width <= room) return text
    // Letters differ in width: begin with what the mean allows and take letters off until the rest fits.
    for (
      let letters = Math.min(text.length - 1, Math.floor((text.length * room) / width));
      letters >= LEAST_LETTERS;
      letters -= 1
    ) {
      const cut = `${text.slice(0, letters).trimEnd()}…`
      if (this.#width(cut) <= room) return cut
    }
    return ''
  }

  #width(text: string): number {
    const known = this.#widths.get(text)
    if (known !== undefined) return known
    if (this.#widths.size > 20_000) this.#widths.clear()
    const width = this.measure(text)
    this.#widths.set(text, width)
    return width
  }
}
