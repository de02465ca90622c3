// The visible timeline as a picture: title, axis, names and lanes, at the screen's resolution or twice it.
import { durationNs } from '../../format/units'
import { download } from '../../components/download'
import { lookUp, t } from '../../i18n/language.svelte'
import { STACKED, type Box } from '../../timeline/layout'
import { visibleBoxes } from '../../timeline/draw/frame'
import { rankName } from './rankName'
import type { TimelineStore } from './store.svelte'
import { groupTitle, trackTitle } from './trackTitle'

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
  sheet.toBlob((blob) => blob && download('timeline.png', blob), 'image/png')
}

interface NameLine {
  readonly text: string
  readonly left: number
  /** Below the box's upper edge. */
  readonly middle: number
  /** Number of the merged lane, whose colour stands before its name. */
  readonly lane: number | null
}

/** Headings stand further to the left. */
const INDENT: Readonly<Partial<Record<Box['kind'], number>>> = { strip: 8, steps: 8, group: 8 }

function titleOf(box: Box): string {
  switch (box.kind) {
    case 'strip':
    case 'steps':
      return `${rankName(box.rank)}  ${box.title}`
    case 'group':
      return groupTitle(box)
    case 'quiet':
      return t('timeline.quiet_tracks', { count: box.rows })
    case 'hidden':
      return t('timeline.hidden', { count: box.title })
    case 'lanes':
      return t('timeline.lanes')
    default:
      return (box.paired || box.groupKind === STACKED ? `${rankName(box.rank)} · ` : '') + trackTitle(box.title)
  }
}

/** What is written beside a box: its title, or one line for each merged lane. */
export function linesOf(box: Box, lanes: readonly string[]): NameLine[] {
  if (box.kind !== 'lanes' || box.folded) {
    const middle = Math.min(box.height, 20) / 2
    return [{ text: titleOf(box), left: INDENT[box.kind] ?? 18, middle, lane: null }]
  }
  return lanes.map((lane, index) => ({
    text: lookUp(`lane.${lane}`) ?? lane,
    left: 32,
    middle: (index + 0.5) * box.rowHeight,
    lane: index,
  }))
}

function writeNames(context: CanvasRenderingContext2D, store: TimelineStore, top: number): void {
  context.font = `11px ${store.canvasTheme.font}`
  for (const { box, top: at } of visibleBoxes(store)) {
    context.save()
    context.beginPath()
    context.rect(0, top, NAMES - 6, store.height)
    context.clip()
    for (const line of linesOf(box, store.model?.tracks.lanes ?? [])) {
      const middle = top + at + line.middle
      if (line.lane !== null) {
        context.fillStyle = store.canvasTheme.lanes.css[line.lane] ?? store.canvasTheme.ink
        context.fillRect(18, middle - 4, 9, 9)
      }
      context.fillStyle = store.canvasTheme.ink
      context.fillText(line.text, line.left, middle)
    }
    context.restore()
  }
}
