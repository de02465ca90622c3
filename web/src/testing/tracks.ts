// Tracks as the server sends them, small and made by hand.
import type { RankTracks, Track, Tracks } from '../api/timeline'

export function makeTrack(track: number, firstRow: number, rows: number, more: Partial<Track> = {}): Track {
  return {
    track,
    stored_track: track,
    kind: 'host',
    name: `thread ${track}`,
    thread: String(track),
    first_row: firstRow,
    rows,
    slices: 10,
    kinds: [0],
    busy_ns: 1000,
    quiet: false,
    counter: null,
    ...more,
  }
}

export function makeRank(rank: number, more: Partial<RankTracks> = {}): RankTracks {
  return {
    rank,
    host: 'node-a',
    device_kind: 'gpu',
    device_name: 'H200',
    clock_offset_ns: '0',
    clock_error_ns: null,
    first_at_ns: 0,
    last_at_ns: 1_000_000,
    rows: 5,
    slices: 20,
    has_lanes: true,
    groups: [
      { name: 'GPU 0', kind: 'device', tracks: [makeTrack(7, 3, 2, { kind: 'stream', name: 'stream 7', kinds: [1] })] },
      { name: 'python', kind: 'host', tracks: [makeTrack(0, 0, 2), makeTrack(1, 2, 1)] },
      {
        name: 'HBM',
        kind: 'counter',
        tracks: [makeTrack(9, 0, 0, { kind: 'counter', name: 'HBM', counter: { points: 4, min: 0, max: 9 } })],
      },
    ],
    links: { launch: 3 },
    steps: [],
    names: ['aten::mm', 'gemm_kernel'],
    names_total: 2,
    ...more,
  }
}

export function makeTracks(ranks: readonly RankTracks[]): Tracks {
  return {
    version: 'v1',
    origin_ns: '1700000000000000000',
    end_at_ns: 1_000_000,
    kinds: ['operator', 'kernel', 'annotation'],
    lanes: ['computing', 'communication', 'exposed_communication', 'exposed_copy', 'free'],
    idle_causes: ['data', 'host'],
    ranks,
  }
}
