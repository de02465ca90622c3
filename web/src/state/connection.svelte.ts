// Whether the server answers. While it does not, the page stays readable and asks again by itself.
const FIRST_DELAY_MS = 1000
const LONGEST_DELAY_MS = 15_000

class Connection {
  gone = $state(false)
  /** Counts returns of the server, so that failed requests can be made again. */
  returns = $state(0)
  #delay = FIRST_DELAY_MS

  lost(): void {
    if (this.gone) return
    this.gone = true
    this.#delay = FIRST_DELAY_MS
    setTimeout(() => void this.#ask(), this.#delay)
  }

  found(): void {
    if (!this.gone) return
    this.gone = false
    this.returns += 1
  }

  async #ask(): Promise<void> {
    if (!this.gone) return
    try {
      await fetch('api/runs', { cache: 'no-store' })
      this.found()
    } catch {
      this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY_MS)
      setTimeout(() => void this.#ask(), this.#delay)
    }
  }
}

export const connection = new Connection()
