// Light or dark: the system's choice until the user makes one.
export type Theme = 'light' | 'dark'

const STORED = 'stepscope.theme'
const systemDark = matchMedia('(prefers-color-scheme: dark)')

class ThemeChoice {
  current = $state<Theme>(stored() ?? fromSystem())

  toggle(): void {
    this.apply(this.current === 'dark' ? 'light' : 'dark')
    localStorage.setItem(STORED, this.current)
  }

  apply(theme: Theme): void {
    this.current = theme
    document.documentElement.dataset['theme'] = theme
  }
}

export const theme = new ThemeChoice()
theme.apply(theme.current)
systemDark.addEventListener('change', () => {
  if (stored() === null) theme.apply(fromSystem())
})

/** The value of a CSS variable in the current theme; reading it in an effect follows theme changes. */
export function cssVariable(name: string): string {
  void theme.current
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}

function fromSystem(): Theme {
  return systemDark.matches ? 'dark' : 'light'
}

function stored(): Theme | null {
  const value = localStorage.getItem(STORED)
  return value === 'light' || value === 'dark' ? value : null
}
