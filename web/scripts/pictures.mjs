// Pictures of pages, taken from a running server; build_steps/pictures.py says of which.
//   node scripts/pictures.mjs ADDRESS SHOTS.json FOLDER
// A shot is { name, hash, language, theme, width, height, ready }: the address behind #, and the CSS selector or the
// probe of what must be there before the picture is taken.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from '@playwright/test'

const [base, list, folder] = process.argv.slice(2)
if (!base || !list || !folder) throw new Error('Name the address of a server, a list of shots and a folder.')
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
})
for (const shot of JSON.parse(readFileSync(list, 'utf8'))) {
  const page = await browser.newPage({ viewport: { width: shot.width, height: shot.height } })
  page.setDefaultTimeout(180_000) // a machine with other work
  page.on('pageerror', (error) => {
    throw error
  })
  await page.addInitScript(
    ([words, look]) => {
      localStorage.setItem('stepscope.language', words)
      localStorage.setItem('stepscope.theme', look)
    },
    [shot.language, shot.theme],
  )
  await page.goto(`${base}?probe#${shot.hash}`)
  await page.waitForLoadState('networkidle')
  if (shot.ready === 'timeline') await page.waitForFunction(() => window.timelineProbe?.idle())
  else await page.waitForSelector(shot.ready)
  await page.waitForLoadState('networkidle')
  await page.waitForTimeout(500) // charts grow into their places
  await page.screenshot({ path: join(folder, `${shot.name}.png`) })
  await page.close()
}
await browser.close()
