// Saves something as a file of the user.

let prefix = (): string => ''

/** What every file's name begins with, such as the run and the rank that it is of. */
export function nameFiles(by: () => string): void {
  prefix = by
}

export function download(name: string, content: Blob | string, type = 'text/plain'): void {
  const blob = typeof content === 'string' ? new Blob([content], { type }) : content
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = `${prefix()}${name}`.replaceAll(/[^\p{L}\p{N}._-]+/gu, '_')
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
