// Fails the build when what the first page loads, or the chart chunk, has grown beyond its budget.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const FIRST_PAGE_KB = 52
const CHART_KB = 260

const page =
  process.env.STEPSCOPE_PAGE_DIR ?? fileURLToPath(new URL('../../src/stepscope/server/page', import.meta.url))
const gzipKb = (file) => gzipSync(readFileSync(join(page, file))).length / 1000

const html = readFileSync(join(page, 'index.html'), 'utf8')
const first = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map((match) => match[1])
const assets = readdirSync(join(page, 'assets'))
// The words of the frame in one language are loaded before the page starts.
const words = assets.filter((name) => /^first\.(zh|en)-.*\.js$/.test(name)).map((name) => gzipKb(join('assets', name)))
const firstKb = first.reduce((sum, file) => sum + gzipKb(file), 0) + Math.max(...words)
const charts = assets.filter((name) => /^echarts-.*\.js$/.test(name))
const chartKb = charts.reduce((sum, name) => sum + gzipKb(join('assets', name)), 0)

console.log(`first page ${firstKb.toFixed(1)} kB, charts ${chartKb.toFixed(1)} kB (gzip)`)
if (first.length === 0 || words.length !== 2)
  throw new Error('index.html names no script, or the words of a language are missing')
if (firstKb > FIRST_PAGE_KB) throw new Error(`the first page exceeds ${FIRST_PAGE_KB} kB`)
if (chartKb > CHART_KB) throw new Error(`the chart chunk exceeds ${CHART_KB} kB`)
