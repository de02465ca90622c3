// Every test: no console error, no request that leaves the machine, no serious finding of axe where it asks.
import { expect, type Page } from '@playwright/test'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { plainTest } from './browser'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

export interface Run {
  readonly id: string
  readonly name: string
}

interface Fixtures {
  readonly app: App
}

export class App {
  /** Whether this test provokes answers that refuse. */
  refusals = false

  constructor(
    readonly page: Page,
    readonly base: string,
  ) {}

  /** The JSON of a route, to compare the page's numbers with. */
  async api<T>(path: string, body?: unknown): Promise<T> {
    // Not by `fetch`, which gives up after five minutes, however busy the machine is.
    const asked = body === undefined ? {} : { method: 'POST', data: body }
    const response = await this.page.request.fetch(`${this.base}api/${path}`, { ...asked, timeout: 0 })
    expect(response.ok(), `${path}: ${response.status()}`).toBe(true)
    return (await response.json()) as T
  }

  async run(name: string): Promise<Run> {
    const { runs } = await this.api<{ runs: Run[] }>('runs')
    const found = runs.find((run) => run.name === name)
    if (!found) throw new Error(`no run ${name} among ${runs.map((run) => run.name).join(', ')}`)
    return found
  }

  /** Open an address below `#`. */
  async open(hash: string, options: { language?: 'zh' | 'en'; theme?: 'dark' | 'light' } = {}): Promise<void> {
    await this.page.addInitScript(
      ([language, theme]) => {
        if (location.protocol === 'about:' || localStorage.getItem('stepscope.language') !== null) return
        localStorage.setItem('stepscope.language', language)
        localStorage.setItem('stepscope.theme', theme)
      },
      [options.language ?? 'en', options.theme ?? 'light'] as const,
    )
    // Leaving first makes sure that a changed hash loads the page anew.
    await this.page.goto('about:blank')
    await this.page.goto(`${this.base}?probe#${hash}`)
  }

  /** Go to another place of the page that is open, as a link on it would; open it first where it is not. */
  async move(path: string, params: Readonly<Record<string, string>>): Promise<void> {
    const hash = `${path}?${new URLSearchParams(params).toString()}`
    if (!this.page.url().startsWith(this.base)) await this.open(hash)
    else await this.page.evaluate((to) => (location.hash = to), hash)
  }

  async openTimeline(run: string, params = ''): Promise<void> {
    await this.open(`/run/${run}/timeline${params}`)
    await this.settled()
  }

  /** The timeline has everything it shows. What a frame lacks is asked for behind it: some in a row must lack nothing. */
  async settled(): Promise<void> {
    await this.page.evaluate(() => (window.framesWithAll = 0))
    await this.page.waitForFunction(() => {
      window.framesWithAll = window.timelineProbe?.idle() ? (window.framesWithAll ?? 0) + 1 : 0
      return window.framesWithAll > 4
    })
  }

  /** Change one parameter of the present address, as a link on the page would. */
  async go(name: string, value: string): Promise<void> {
    await this.page.evaluate(
      ([key, text]) => {
        const [path = '', query = ''] = location.hash.split('?')
        const params = new URLSearchParams(query)
        params.set(key, text)
        location.hash = `${path}?${params.toString().replaceAll('%3A', ':').replaceAll('%2C', ',')}`
      },
      [name, value] as const,
    )
    await this.settled()
  }

  param(name: string): string | null {
    return new URLSearchParams(this.page.url().split('?').at(-1)).get(name)
  }

  async axe(): Promise<void> {
    // Evaluated by the browser's debugger, which the page's policy does not bind.
    await this.page.evaluate(readFileSync(AXE, 'utf8'))
    const found = await this.page.evaluate(async () => {
      const { axe } = window as unknown as {
        axe: {
          run: (options: object) => Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>
        }
      }
      // Only what is wrong is written out; without selectors, which take as long as the rules.
      const { violations } = await axe.run({ resultTypes: ['violations'], selectors: false })
      return violations
        .filter((one) => one.impact === 'serious' || one.impact === 'critical')
        .map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' | ')}`)
    })
    expect(found).toEqual([])
  }
}

declare global {
  interface Window {
    framesWithAll?: number
    timelineProbe?: { idle: () => boolean; missing: number; frames: number[] }
  }
}

export const test = plainTest.extend<Fixtures>({
  app: async ({ page }, use) => {
    const address = process.env['STEPSCOPE_URL'] ?? ''
    const faults: string[] = []
    const app = new App(page, address)
    page.on('console', (message) => {
      // A refused request is logged by the browser itself; tests that provoke one say so.
      const refused = app.refusals && message.text().startsWith('Failed to load resource')
      if (!refused && (message.type() === 'error' || message.type() === 'warning')) faults.push(message.text())
    })
    page.on('response', (response) => {
      if (response.status() >= 400 && !app.refusals) faults.push(`${response.status()} ${response.url()}`)
    })
    page.on('pageerror', (error) => faults.push(String(error)))
    page.on('request', (request) => {
      if (!request.url().startsWith(address) && !/^(about|blob):/.test(request.url()))
        faults.push(`left the machine: ${request.url()}`)
    })
    await use(app)
    expect(faults).toEqual([])
  },
})

export { expect, plainTest }
