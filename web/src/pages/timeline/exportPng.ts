// The visible timeline as a picture: title, axis, names and lanes, at the screen's resolution or twice it.
import { durationNs } from '../../format/units'
import { download } from '../../components/download'
import { visibleBoxes } from '../../timeline/draw/frame'
import type { TimelineStore } from './store.svelte'

const TITLE = 30
const NAMES = 240

export function exportPng(root: HTMLElement, store: TimelineStore): void {
  const lanes = [...root.querySelectorAll<HTMLCanvasElement>('.lanes canvas')]
  const ruler = root.querySelector<HTMLCanvasElement>('.line + .line canvas')
  const first = lanes[0]
  if (!first || !ruler) return
  const ratio = first.width / Math.max(1, store.width)
  const sheet = document.createElement('canvas')
  sheet.width = Math.round((NAMES + store.width) * ratio)
  sheet.height = Math.round((TITLE + 24 + store.height) * ratio)
  const context = sheet.getContext('2d')
  if (!context) return
  const { canvasTheme: theme } = store
  context.scale(ratio, ratio)
  context.fillStyle = theme.laneAlternate
  context.fillRect(0, 0, NAMES + store.width, TITLE + 24 + store.height)
  context.fillStyle = theme.ink
  context.font = `600 14px ${theme.font}`
  context.textBaseline = 'middle'
  const name = store.session.run?.summary.name ?? ''
  context.fillText(`${name}   ${durationNs(store.view.start)} … ${durationNs(store.view.end)}`, 10, TITLE / 2)
  context.drawImage(ruler, NAMES, TITLE, store.width, 24)
  for (const canvas of lanes) context.drawImage(canvas, NAMES, TITLE + 24, store.width, store.height)
  writeNames(context, store, TITLE + 24)
  sheet.toBlob((blob) => blob && download(`${name}-timeline.png`, blob), 'image/png')
}

function writeNames(context: CanvasRenderingContext2D, store: TimelineStore, top: number): void {
  const { pinned, scrolled } = visibleBoxes({ layout: store.layout, scrollTop: store.scrollTop, height: store.height })
  context.font = `11px ${store.canvasTheme.font}`
  for (const { box, top: at } of [...pinned, ...scrolled]) {
    const text = box.kind === 'rank' ? `rank ${box.rank}  ${box.title}` : box.title
    const middle = top + at + Math.min(box.height, 20) / 2
    context.save()
    context.beginPath()
    context.rect(0, top, NAMES - 6, store.height)
    context.clip()
    context.fillStyle = store.canvasTheme.ink
    context.fillText(text, box.kind === 'rank' || box.kind === 'group' ? 8 : 18, middle)
    context.restore()
  }
}
