// The words of the frame: the page starts when they are there. Chinese.
import { frameZh } from './frame.zh'
import { partsZh } from './parts.zh'
import { runsZh } from './runs.zh'

export const firstZh = {
  ...frameZh,
  ...partsZh,
  ...runsZh,
}
