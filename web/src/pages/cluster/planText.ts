// The parallel plan as a user writes it: sizes by dimension and the order of ranks.
export const PLAN_DIMENSIONS = ['tp', 'cp', 'pp', 'dp', 'ep'] as const
export type PlanDimensionName = (typeof PLAN_DIMENSIONS)[number]

/** Orders of ranks that trainers use, the fastest dimension first. */
export const ORDERS = ['tp-cp-dp-pp', 'tp-cp-pp-dp', 'tp-dp-cp-pp'] as const

/** `tp=8,pp=4,order=…` as `--parallel` takes it; sizes that are not given are left to what the others leave. */
export function planText(sizes: Readonly<Partial<Record<PlanDimensionName, number | null>>>, order: string): string {
  const parts = PLAN_DIMENSIONS.flatMap((name) => {
    const size = sizes[name]
    return size === null || size === undefined || !Number.isInteger(size) || size < 1 ? [] : [`${name}=${size}`]
  })
  return [...parts, ...(order === ORDERS[0] ? [] : [`order=${order}`])].join(',')
}
