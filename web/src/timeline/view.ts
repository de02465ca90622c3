// The visible stretch of time. Times are float64 nanoseconds relative to the run's origin: exact up to 104 days.

export interface Span {
  readonly start: number
  readonly end: number
}

/** Finest zoom: one nanosecond over this many pixels would show nothing more. */
const LEAST_SPAN_NS = 20
const HISTORY_LENGTH = 100
/** How far beyond the run the view may go, in parts of the run. */
const MARGIN = 0.02

export class TimeView {
  #span: Span
  #history: Span[] = []

  constructor(
    private bounds: Span,
    span: Span = bounds,
    public width = 1000,
  ) {
    this.#span = this.#clamp(span)
  }

  get span(): Span {
    return this.#span
  }

  get start(): number {
    return this.#span.start
  }

  get end(): number {
    return this.#span.end
  }

  get nsPerPixel(): number {
    return (this.end - this.start) / Math.max(1, this.width)
  }

  /** Pixel of a moment. */
  x(ns: number): number {
    return (ns - this.start) / this.nsPerPixel
  }

  /** Moment of a pixel. */
  time(x: number): number {
    return this.start + x * this.nsPerPixel
  }

  setBounds(bounds: Span): void {
    this.bounds = bounds
    this.#span = this.#clamp(this.#span)
  }

  /** Move by pixels; positive shows later times. */
  pan(pixels: number): void {
    const shift = pixels * this.nsPerPixel
    this.#span = this.#clamp({ start: this.start + shift, end: this.end + shift })
  }

  /** Zoom so that the moment under pixel `x` stays there; factor above 1 zooms in. */
  zoomAt(x: number, factor: number): void {
    const anchor = this.time(x)
    const part = x / Math.max(1, this.width)
    const length = this.#length((this.end - this.start) / factor)
    this.#span = this.#clamp({ start: anchor - part * length, end: anchor + (1 - part) * length })
  }

  /** Show exactly this stretch; Back (undo) returns. */
  show(span: Span): void {
    this.remember()
    this.#span = this.#clamp(span)
  }

  /** Show a stretch without a history entry, as when following the address. */
  jump(span: Span): void {
    this.#span = this.#clamp(span)
  }

  showAll(): void {
    this.show(this.bounds)
  }

  /** Centre a stretch; when it is centred already, fit it with a little room around. */
  focus(span: Span): void {
    const middle = (span.start + span.end) / 2
    const half = (this.end - this.start) / 2
    const centred = Math.abs((this.start + this.end) / 2 - middle) < this.nsPerPixel * 2
    if (!centred && span.end - span.start <= 2 * half) {
      this.show({ start: middle - half, end: middle + half })
      return
    }
    this.fit(span)
  }

  fit(span: Span): void {
    const room = Math.max((span.end - span.start) * 0.1, LEAST_SPAN_NS / 2)
    this.show({ start: span.start - room, end: span.end + room })
  }

  /** Scroll just enough to see a stretch. */
  reveal(span: Span): void {
    if (span.end >= this.start && span.start <= this.end && (span.start >= this.start || span.end <= this.end)) return
    const half = (this.end - this.start) / 2
    const middle = (span.start + span.end) / 2
    this.show({ start: middle - half, end: middle + half })
  }

  /** Keep the present stretch for undo. */
  remember(): void {
    const last = this.#history.at(-1)
    if (last && last.start === this.start && last.end === this.end) return
    this.#history.push(this.#span)
    if (this.#history.length > HISTORY_LENGTH) this.#history.shift()
  }

  undo(): boolean {
    const last = this.#history.pop()
    if (!last) return false
    this.#span = this.#clamp(last)
    return true
  }

  #length(wanted: number): number {
    const whole = (this.bounds.end - this.bounds.start) * (1 + 2 * MARGIN)
    return Math.min(Math.max(wanted, LEAST_SPAN_NS), Math.max(whole, LEAST_SPAN_NS))
  }

  #clamp(span: Span): Span {
    const length = this.#length(span.end - span.start)
    const whole = this.bounds.end - this.bounds.start
    // Up to half a view beyond the run, but hardly anything once the whole run is in sight.
    const beyond = Math.min(length / 2, MARGIN * whole + Math.max(0, whole - length))
    const least = this.bounds.start - beyond
    const most = Math.max(least, this.bounds.end + beyond - length)
    const start = Math.min(Math.max((span.start + span.end - length) / 2, least), most)
    return { start, end: start + length }
  }
}
