// The words of the frame: the page starts when they are there. English.
import { frameEn } from './frame.en'
import { partsEn } from './parts.en'
import { runsEn } from './runs.en'
import type { firstZh } from './first.zh'

export const firstEn: Record<keyof typeof firstZh, string> = {
  ...frameEn,
  ...partsEn,
  ...runsEn,
}
