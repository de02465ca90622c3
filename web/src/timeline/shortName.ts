// Names for reading: of a C++ kernel its function and what it applies, without namespaces, arguments and types; of an
// operator within scopes of a network its own name.

/** A name with its template arguments, if it is a C++ function at all. */
const FUNCTION = /^(?:void |static |__global__ )*(.*)$/s
/** What an elementwise kernel applies: without it, all of them read alike. */
const APPLIED = /\b(?:\w+::)*(\w*(?:[Ff]unctor|Op|_op)\w*)\b/
/** Kernels that only wrap the first type among the arguments of their template; as `facts/operators.toml` has them. */
const GENERIC: ReadonlySet<string> = new Set([
  'Kernel',
  'Kernel2',
  'device_kernel',
  'kernel',
  'cutlass_device_kernel',
  'kentry',
])
/** Before the names that a compiler joined into one, and the arguments behind them up to the first type. */
const MANGLED = /^_ZN?K?(?:S\w?_|St)?/
const MANGLED_ARGUMENT = /^I(?:L[a-z]n?\d+E)*N?(?:S\w?_|St)?/
/** Scopes of a network, as graphs of MindSpore name their operators. */
const SCOPED = /^(?:Default|Gradients|recompute_Default)\/(?:.*\/)?([^/]+)$/
/** What stands before the word that tells slices of one kind apart. */
const PREFIX = /^(?:autograd::engine::evaluate_function: |torch::autograd::|nn\.Module: |aten::|c10d::)(?=.)/

/** The name that a label has room for; whole names stay in details, tooltips and copies. */
export function shortName(name: string): string {
  const scoped = SCOPED.exec(name)?.[1]
  if (scoped !== undefined) return scoped
  const joined = demangled(name)
  if (joined !== null) return joined
  if (!isFunction(name)) return name
  const plain = (FUNCTION.exec(name)?.[1] ?? name).replaceAll('(anonymous namespace)::', '')
  const cut = plain.search(/[<(]/)
  const own = lastOf(cut < 0 ? plain : plain.slice(0, cut))
  if (!/^[\w~ ]+$/.test(own)) return name
  const behind = cut >= 0 && plain[cut] === '<' ? plain.slice(cut) : ''
  const wrapped = GENERIC.has(own) ? lastOf(/^<\s*([A-Za-z_][\w:]*)/.exec(behind)?.[1] ?? '') : ''
  if (wrapped !== '') return wrapped
  const applied = APPLIED.exec(behind)?.[1]
  return applied === undefined || applied === own ? own : `${own}<${applied}>`
}

/** What is left for a slice that has no room for its name: without what many begin with. */
export function tellingName(short: string): string {
  return short.replace(PREFIX, '')
}

function lastOf(name: string): string {
  return name.split('::').at(-1)?.trim() ?? ''
}

/** The function of a name that a compiler joined (Itanium C++ ABI); null for any other name. */
function demangled(name: string): string | null {
  const own = joinedAt(name, MANGLED.exec(name)?.[0].length ?? name.length)
  if (own.last === '') return null
  const following = GENERIC.has(own.last) ? MANGLED_ARGUMENT.exec(name.slice(own.end)) : null
  return (following && joinedAt(name, own.end + following[0].length).last) || own.last
}

/** The last of several names, each behind its length, and where they end. */
function joinedAt(text: string, begin: number): { readonly last: string; readonly end: number } {
  let [last, end] = ['', begin]
  for (;;) {
    const length = /^\d+/.exec(text.slice(end, end + 5))?.[0]
    if (length === undefined) return { last, end }
    const start = end + length.length
    end = start + Number(length)
    last = text.slice(start, end)
  }
}

function isFunction(name: string): boolean {
  if (/\.py\(\d+\)/.test(name)) return false
  if (name.startsWith('void ') || name.includes('(anonymous namespace)::')) return true
  return /^[\w:]+<.*>\(?.*\)?$/s.test(name) || /^[A-Za-z_]\w*\([^()]*<[^()]*\)$/.test(name)
}
