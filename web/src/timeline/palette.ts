// Colours of slices: 24 hues by a hash of the name, two lightness steps per theme; shades towards the background for
// bins that are only partly busy. Colours are packed as the canvas stores them (little-endian ABGR).

export const HUES = 24
export const SHADES = 16

export interface Rgb {
  readonly r: number
  readonly g: number
  readonly b: number
}

export interface Palette {
  /** Shade s of colour c is table[c * SHADES + s]; the last shade is the full colour. */
  readonly table: Uint32Array
  /** The same colours dimmed, for what a search does not match. */
  readonly dimmed: Uint32Array
  /** Full colours as text, for labels, legends and outlines. */
  readonly css: readonly string[]
  /** Text colour that can be read on each. */
  readonly ink: readonly string[]
}

/** A small, well-spread hash of a name (FNV-1a). Numbers in names do not count: `MatMul_12` is `MatMul_7`. */
export function colourOfName(name: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i += 1) {
    const code = name.charCodeAt(i)
    if (code >= 48 && code <= 57) continue
    hash = Math.imul(hash ^ code, 0x01000193)
  }
  // The low bits of FNV are weak for short names: mix before taking the remainder.
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x85ebca6b)
  hash ^= hash >>> 13
  return (hash >>> 0) % (HUES * 2)
}

/** Colour numbers of a whole name table. */
export function coloursOfNames(names: readonly string[]): Uint8Array {
  return Uint8Array.from(names, colourOfName)
}

export function namePalette(dark: boolean, background: Rgb): Palette {
  const colours: Rgb[] = []
  for (let c = 0; c < HUES * 2; c += 1) {
    const hue = ((c % HUES) * 360) / HUES
    const light = c < HUES
    const lightness = dark ? (light ? 0.6 : 0.46) : light ? 0.72 : 0.6
    colours.push(hslToRgb(hue, dark ? 0.4 : 0.52, lightness))
  }
  return paletteOf(colours, background)
}

/** `least` is how much of a colour its faintest shade has. */
export function paletteOf(colours: readonly Rgb[], background: Rgb, least = 0.25): Palette {
  const table = new Uint32Array(colours.length * SHADES)
  const dimmed = new Uint32Array(colours.length * SHADES)
  colours.forEach((colour, c) => {
    const faint = mix(background, colour, 0.22)
    for (let s = 0; s < SHADES; s += 1) {
      const part = least + ((1 - least) * s) / (SHADES - 1)
      table[c * SHADES + s] = pack(mix(background, colour, part))
      dimmed[c * SHADES + s] = pack(mix(background, faint, part))
    }
  })
  return {
    table,
    dimmed,
    css: colours.map(cssOf),
    ink: colours.map((c) => (luminance(c) > 0.3 ? '#10151c' : '#ffffff')),
  }
}

export function pack(colour: Rgb): number {
  return ((255 << 24) | (colour.b << 16) | (colour.g << 8) | colour.r) >>> 0
}

export function mix(from: Rgb, to: Rgb, part: number): Rgb {
  const blend = (a: number, b: number): number => Math.round(a + (b - a) * part)
  return { r: blend(from.r, to.r), g: blend(from.g, to.g), b: blend(from.b, to.b) }
}

export function cssOf({ r, g, b }: Rgb): string {
  return `rgb(${r} ${g} ${b})`
}

/** `#rgb`, `#rrggbb` or `rgb(…)`. */
export function parseColour(text: string): Rgb {
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text.trim())?.[1]
  if (hex) {
    const full = hex.length === 3 ? [...hex].map((digit) => digit + digit).join('') : hex
    const value = Number.parseInt(full, 16)
    return { r: value >> 16, g: (value >> 8) & 255, b: value & 255 }
  }
  const [r = 128, g = 128, b = 128] = (text.match(/\d+/g) ?? []).map(Number)
  return { r, g, b }
}

function luminance({ r, g, b }: Rgb): number {
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

function linear(value: number): number {
  const part = value / 255
  return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
}

function hslToRgb(hue: number, saturation: number, lightness: number): Rgb {
  const amount = saturation * Math.min(lightness, 1 - lightness)
  const channel = (n: number): number => {
    const k = (n + hue / 30) % 12
    return Math.round(255 * (lightness - amount * Math.max(-1, Math.min(k - 3, 9 - k, 1))))
  }
  return { r: channel(0), g: channel(8), b: channel(4) }
}
