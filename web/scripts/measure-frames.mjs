// Frame script times of the timeline in a real Chromium: pan, zoom in, zoom out, scroll.
//   node scripts/measure-frames.mjs http://127.0.0.1:8080 RUN_ID
// Prints one JSON line per movement: frames, p50, p95 and largest script time in ms, frames with a hole, and whether a
// hole was left when everything had come to rest.
import { chromium } from '@playwright/test'

const [base, run] = process.argv.slice(2)
if (!base || !run) throw new Error('Name the address of a server and the id of a run.')
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
})
const page = await browser.newPage({ viewport: { width: 1600, height: 900 } })
const bytes = []
page.on('response', async (response) => {
  if (response.url().endsWith('/tiles')) bytes.push((await response.body()).length)
})

async function open(span) {
  await page.goto('about:blank')
  await page.goto(`${base}/?probe#/run/${run}/timeline?t=${span}`)
  await page.waitForFunction(() => window.timelineProbe?.idle())
  await page.keyboard.press('q')
  await page.waitForFunction(() => window.timelineProbe?.idle())
}

/** Run a movement: one call of `step` per animation frame. */
async function measure(name, span, frames, step) {
  await open(span)
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
  console.log(JSON.stringify({ name, ...result }))
}

const second = 1e9
await measure('pan, 38 s in sight', `0-${38 * second}`, 120, { deltaY: 12, shiftKey: true })
await measure('pan, 2 s in sight', `${20 * second}-${22 * second}`, 120, { deltaY: 30, shiftKey: true })
await measure('pan, 50 ms in sight', `${20 * second}-${20.05 * second}`, 120, { deltaY: 30, shiftKey: true })
await measure('scroll rows, 2 s in sight', `${20 * second}-${22 * second}`, 60, { deltaY: 40 })
await measure('zoom in, 60 s to 12 ms', `0-${60 * second}`, 120, { deltaY: -22, ctrlKey: true })
await measure('zoom out, 10 ms to 60 s', `${30 * second}-${30.01 * second}`, 120, { deltaY: 22, ctrlKey: true })
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
