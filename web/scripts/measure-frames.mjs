// Frame script times of the timeline in a real Chromium: pan, zoom in, zoom out, scroll.
//   node scripts/measure-frames.mjs http://127.0.0.1:8080 RUN_ID [LENGTH_NS [PARAMETERS]]
// The length of the run is that of the generated one, 60 s, unless it is named; parameters such as `rank=all` are added to
// the address.
// Prints one JSON line per movement: frames, p50, p95 and largest script time in ms, CPU ms of all scripts per frame,
// frames with a hole, and whether a hole was left when everything had come to rest.
import { chromium } from '@playwright/test'

const [base, run, length = '60e9', parameters = ''] = process.argv.slice(2)
if (!base || !run) throw new Error('Name the address of a server and the id of a run.')
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
})
const page = await browser.newPage({ viewport: { width: 1600, height: 900 } })
const devtools = await page.context().newCDPSession(page)
await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
const bytes = []
page.on('response', async (response) => {
  if (response.url().endsWith('/tiles')) bytes.push((await response.body()).length)
})

/** CPU seconds of scripts in the page's thread so far: what other work on the machine does not change. */
async function scriptSeconds() {
  const { metrics } = await devtools.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'ScriptDuration').value
}

async function open(span) {
  await page.goto('about:blank')
  await page.goto(`${base}/?probe#/run/${run}/timeline?t=${span}&${parameters}`)
  await page.waitForFunction(() => window.timelineProbe?.idle())
  await page.keyboard.press('q')
  await page.waitForFunction(() => window.timelineProbe?.idle())
}

/** Run a movement: one call of `step` per animation frame. */
async function measure(name, span, frames, step) {
  await open(span)
  const before = await scriptSeconds()
  const result = await page.evaluate(
    async ({ times, wheel }) => {
      const probe = window.timelineProbe
      probe.frames.length = 0
      let holes = 0
      const target = document.querySelector('canvas.overlay')
      const rect = target.getBoundingClientRect()
      for (let n = 0; n < times; n += 1) {
        const event = {
          clientX: rect.left + rect.width / 2,
          clientY: rect.top + rect.height / 2,
          bubbles: true,
          cancelable: true,
        }
        target.dispatchEvent(new WheelEvent('wheel', { ...event, ...wheel }))
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
        if (probe.missing > 0) holes += 1
      }
      const deadline = performance.now() + 10_000
      while (!probe.idle() && performance.now() < deadline) await new Promise((done) => setTimeout(done, 50))
      await new Promise((done) => setTimeout(done, 300))
      const sorted = probe.frames.toSorted((a, b) => a - b)
      const at = (part) => Number(sorted[Math.floor(part * (sorted.length - 1))].toFixed(2))
      return {
        frames: sorted.length,
        p50: at(0.5),
        p95: at(0.95),
        max: at(1),
        holes,
        left: probe.missing,
        walked: probe.walked,
        lines: probe.lines,
      }
    },
    { times: frames, wheel: step },
  )
  const cpu = Number(((1000 * ((await scriptSeconds()) - before)) / result.frames).toFixed(2))
  console.log(JSON.stringify({ name, cpu, ...result }))
}

/** A stretch of the run, from and to as parts of it, in whole nanoseconds. */
const part = (from, to) => `${Math.round(from * Number(length))}-${Math.round(to * Number(length))}`
await measure('pan, two thirds in sight', part(0, 0.63), 120, { deltaY: 12, shiftKey: true })
await measure('pan, a thirtieth in sight', part(0.33, 0.365), 120, { deltaY: 30, shiftKey: true })
await measure('pan, a thousandth in sight', part(0.33, 0.331), 120, { deltaY: 30, shiftKey: true })
await measure('scroll rows, a thirtieth in sight', part(0.33, 0.365), 60, { deltaY: 40 })
await measure('zoom in from the whole run', part(0, 1), 120, { deltaY: -22, ctrlKey: true })
await measure('zoom out from a six thousandth', part(0.5, 0.50017), 120, { deltaY: 22, ctrlKey: true })
bytes.sort((a, b) => a - b)
console.log(
  JSON.stringify({
    name: 'tile answers',
    requests: bytes.length,
    medianKB: bytes[bytes.length >> 1] / 1000,
    largestKB: bytes.at(-1) / 1000,
  }),
)
await browser.close()
