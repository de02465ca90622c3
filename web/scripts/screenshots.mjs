// Pictures of the pages for the documents, taken from a running server.
//   node scripts/screenshots.mjs http://127.0.0.1:8080 RUN_ID OUT_DIR [en|zh] [light|dark] [width]
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from '@playwright/test'

const [base, run, folder, language = 'en', theme = 'light', width = '1280'] = process.argv.slice(2)
if (!base || !run || !folder) throw new Error('Name the address of a server, the id of a run and a folder.')
mkdirSync(folder, { recursive: true })
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
})
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(width) > 1500 ? 1000 : 800 } })
await page.addInitScript(
  ([words, look]) => {
    localStorage.setItem('stepscope.language', words)
    localStorage.setItem('stepscope.theme', look)
  },
  [language, theme],
)
for (const name of ['overview', 'timeline', 'steps', 'operators', 'data', 'memory', 'cpu', 'sql']) {
  await page.goto(`${base}/?probe#/run/${run}/${name}`)
  await page.reload()
  await page.waitForLoadState('networkidle')
  if (name === 'timeline') await page.waitForFunction(() => window.timelineProbe?.idle())
  await page.screenshot({ path: join(folder, `${name}-${language}-${theme}-${width}.png`) })
}
await browser.close()
