import { expect, test } from 'vitest'
import type { PictureSlice, ProofPicture } from '../api/schema'
import { layOut } from './pictureLayout'

const slice = (row: number, start: number, length: number, proves = false): PictureSlice => ({
  name: 'mm',
  kind: 'kernel',
  row,
  start_ns: start,
  dur_ns: length,
  proves,
})
const picture = (tracks: ProofPicture['tracks']): ProofPicture => ({
  finding: 'f',
  rank: 0,
  steps: [],
  start_ns: '1700000000000000000',
  at_ns: 0,
  dur_ns: 1000,
  proof_start_ns: 250,
  proof_end_ns: 750,
  tracks,
  slices_left_out: 0,
})

test('times become pixels, and the proof lies where it is', () => {
  const drawn = layOut(picture([{ name: 'stream 7', kind: 'stream', rows: 1, slices: [slice(0, 100, 200)] }]), 500, 9)
  expect(drawn.slices.map(({ x, width, row }) => [x, width, row])).toEqual([[50, 100, 0]])
  expect(drawn.proof).toEqual({ from: 125, to: 375 })
})

test('of a deep pile the rows around the proof stay', () => {
  const pile = Array.from({ length: 12 }, (_, row) => slice(row, 0, 1000, row === 8))
  const drawn = layOut(picture([{ name: 'thread', kind: 'thread', rows: 12, slices: pile }]), 500, 9)
  expect(drawn.slices.map((one) => one.slice.row)).toEqual([6, 7, 8])
  expect(drawn.rows).toBe(3)
})

test('many tracks make no tower', () => {
  const track = { name: 'stream', kind: 'stream', rows: 3, slices: [slice(0, 0, 10)] }
  const tracks = [track, track, track, track, track]
  expect(layOut(picture(tracks), 500, 9).rows).toBe(9)
  expect(layOut(picture(tracks), 500, 6).rows).toBe(6)
})
