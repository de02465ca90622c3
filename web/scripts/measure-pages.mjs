// What opening a page costs in a real Chromium, from an empty tab to its content; benchmarks/pages.py says of which pages.
//   node scripts/measure-pages.mjs ADDRESS VISITS.json
// A visit is { name, hash, ready }: the address behind #, and the CSS selector of the page's main content, or `timeline`
// for a timeline that has drawn all it shows. Every page is opened once to fill the caches, and then measured.
// Prints one JSON line per visit: when something and when the main content was painted, when nothing was under way any more,
// CPU time of the page's thread, nodes of the document, and every request.
import { readFileSync } from 'node:fs'
import { chromium } from '@playwright/test'

const [base, list] = process.argv.slice(2)
if (!base || !list) throw new Error('Name the address of a server and a list of visits.')
const PATIENCE_MS = 300_000
const QUIET_MS = 400
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
})
const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US' })
await context.addInitScript(watchContent)

/** In the page: notes when the main content was there first, and when the page changed last. */
function watchContent() {
  const seen = { content: null, changed: 0 }
  window.pageWatch = seen
  const ready = sessionStorage.getItem('measured')
  const isThere = () =>
    ready === 'timeline' ? (window.timelineProbe?.idle() ?? false) : document.querySelector(ready) !== null
  const look = () => {
    if (ready && seen.content === null && isThere()) seen.content = performance.now()
    if (seen.content === null) requestAnimationFrame(look)
  }
  addEventListener('DOMContentLoaded', () => {
    look()
    new MutationObserver(() => (seen.changed = performance.now())).observe(document.body, {
      childList: true,
      subtree: true,
      characterData: true,
    })
  })
}

/** The stream of events of the list of runs never ends. */
const ends = (request) => !request.url().includes('/runs/events')

async function visit({ name, hash, ready }) {
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  const requests = []
  let open = 0
  let lastEnd = performance.now()
  page.on('request', (request) => (open += Number(ends(request))))
  const ended = (request) => {
    open -= Number(ends(request))
    lastEnd = performance.now()
  }
  page.on('requestfailed', ended)
  page.on('requestfinished', (request) => {
    ended(request)
    if (!request.url().includes('/api/') || !ends(request)) return
    requests.push({
      method: request.method(),
      url: request.url(),
      headers: request.headers(),
      body: request.postData(),
    })
  })
  await page.goto(`${base}favicon.svg`)
  await page.evaluate((one) => sessionStorage.setItem('measured', one), ready)
  await page.goto('about:blank')
  const devtools = await context.newCDPSession(page)
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  const before = await metrics(devtools)
  requests.length = 0
  await page.goto(`${base}?probe#${hash}`)
  await page.waitForFunction(() => window.pageWatch?.content !== null, undefined, { timeout: PATIENCE_MS })
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const busy = await page.evaluate(() => document.querySelector('main [aria-busy="true"]') !== null)
    if (!busy && open <= 0 && performance.now() - lastEnd > QUIET_MS) break
    if (performance.now() > deadline) throw new Error(`${name} does not come to rest.`)
    await page.waitForTimeout(50)
  }
  const seen = await page.evaluate(() => ({
    content: window.pageWatch.content,
    changed: window.pageWatch.changed,
    paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null,
    nodes: document.querySelectorAll('*').length,
    faults: [...document.querySelectorAll('main [role="alert"]')].map((one) => one.textContent),
  }))
  const after = await metrics(devtools)
  const spent = (what) => 1000 * (after[what] - before[what])
  await page.close()
  return {
    name,
    paint_ms: seen.paint,
    content_ms: seen.content,
    settled_ms: seen.changed,
    task_cpu_ms: spent('TaskDuration'),
    script_cpu_ms: spent('ScriptDuration'),
    layout_cpu_ms: spent('LayoutDuration') + spent('RecalcStyleDuration'),
    nodes: seen.nodes,
    faults: seen.faults,
    requests,
  }
}

async function metrics(devtools) {
  const { metrics: found } = await devtools.send('Performance.getMetrics')
  return Object.fromEntries(found.map(({ name, value }) => [name, value]))
}

for (const one of JSON.parse(readFileSync(list, 'utf8'))) {
  const first = await visit(one)
  const second = await visit(one)
  console.log(JSON.stringify({ ...second, first_content_ms: first.content_ms }))
}
await browser.close()
