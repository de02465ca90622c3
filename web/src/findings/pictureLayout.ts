// Which rows of a proof's picture are drawn where: a few rows of each track, few tracks, all slices in pixels.
import type { PictureSlice, ProofPicture } from '../api/schema'

export interface DrawnSlice {
  readonly x: number
  readonly width: number
  readonly row: number
  readonly slice: PictureSlice
}

export interface DrawnTrack {
  readonly name: string
  /** Its first row and how many it has. */
  readonly row: number
  readonly rows: number
}

export interface PictureLayout {
  readonly tracks: readonly DrawnTrack[]
  readonly slices: readonly DrawnSlice[]
  readonly rows: number
  /** Where the proof lies, in pixels. */
  readonly proof: { readonly from: number; readonly to: number }
}

const MOST_ROWS_OF_A_TRACK = 3

export function layOut(picture: ProofPicture, width: number, mostRows: number): PictureLayout {
  const scale = width / Math.max(1, Number(picture.dur_ns))
  const tracks: DrawnTrack[] = []
  const slices: DrawnSlice[] = []
  let row = 0
  for (const track of picture.tracks) {
    // A proof deep in a pile is still shown: the pile begins with the row of the proof.
    const proving = track.slices.filter((one) => one.proves).map((one) => one.row)
    const first = Math.max(0, Math.min(...proving, track.rows) - MOST_ROWS_OF_A_TRACK + 1)
    const begin = proving.length > 0 ? first : 0
    const rows = Math.min(track.rows - begin, MOST_ROWS_OF_A_TRACK, mostRows - row)
    if (rows <= 0) break
    tracks.push({ name: track.name, row, rows })
    for (const slice of track.slices) {
      const own = slice.row - begin
      if (own < 0 || own >= rows) continue
      slices.push({
        x: Number(slice.start_ns) * scale,
        width: Math.max(1, Number(slice.dur_ns) * scale),
        row: row + own,
        slice,
      })
    }
    row += rows
  }
  return {
    tracks,
    slices,
    rows: row,
    proof: { from: Number(picture.proof_start_ns) * scale, to: Number(picture.proof_end_ns) * scale },
  }
}
