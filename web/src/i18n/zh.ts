// The Chinese dictionary: its keys are the type that English must match.
import { firstZh } from './first.zh'
import { pagesZh } from './pages.zh'

export const zh = { ...firstZh, ...pagesZh }
