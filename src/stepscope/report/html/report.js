'use strict'
// Shows a page of sections. All texts reach the document as texts, never as markup.
;(() => {
  const page = JSON.parse(document.getElementById('data').textContent)
  const root = document.documentElement
  const prefersDark = window.matchMedia('(prefers-color-scheme: dark)')
  let lang = page.lang
  let theme = prefersDark.matches ? 'dark' : 'light'
  let redraw = []

  const words = (text) => (typeof text === 'string' ? text : text[lang])
  const label = (name) => words(page.labels[name])

  function node(tag, classes, ...children) {
    const made = document.createElement(tag)
    if (classes) made.className = classes
    for (const child of children) if (child !== null) made.append(child)
    return made
  }

  function button(text, press) {
    const made = node('button', '', text)
    made.type = 'button'
    made.addEventListener('click', press)
    return made
  }

  function show() {
    redraw = []
    root.lang = lang
    root.dataset.theme = theme
    document.title = words(page.title)
    const verdict = node('div', `verdict tone-${page.tone}`, node('p', '', words(page.verdict)))
    for (const line of page.more_verdict) verdict.append(node('p', '', words(line)))
    const about = node('p', 'about', page.about.map(words).join(' · '))
    document.getElementById('report').replaceChildren(
      node('header', '', node('h1', '', words(page.title)), ...controls()),
      about,
      node('main', '', verdict, contents(), ...page.sections.map(section)),
      node('footer', '', words(page.made_with)),
    )
    drawAll()
  }

  function controls() {
    const other = lang === 'en' ? 'zh' : 'en'
    const language = button(other === 'zh' ? '中文' : 'English', () => {
      lang = other
      show()
    })
    language.lang = other
    const shade = button(label('theme'), () => setTheme(theme === 'dark' ? 'light' : 'dark'))
    return [language, shade, button(label('print'), () => window.print())]
  }

  function setTheme(chosen) {
    theme = chosen
    root.dataset.theme = chosen
    drawAll()
  }

  function drawAll() {
    for (const draw of redraw) draw()
  }

  function contents() {
    const nav = node('nav', '')
    nav.setAttribute('aria-label', label('contents'))
    for (const one of page.sections) {
      const link = node('a', '', words(one.title))
      link.href = `#${one.id}`
      nav.append(link)
    }
    return nav
  }

  function section(one) {
    const title = node('h2', '', words(one.title))
    const made = node('section', '', title, bodies[one.type](one))
    made.id = one.id
    for (const line of one.after ?? []) made.append(node('p', 'after', words(line)))
    return made
  }

  const bodies = {
    cards: (one) => node('div', '', ...one.cards.map(card)),
    lines: (one) => node('div', 'panel', node('ul', 'lines', ...one.lines.map((line) => node('li', '', words(line))))),
    table,
    bars,
  }

  function card(one) {
    const number = node('a', 'number', `#${one.number}`)
    number.href = `#f${one.number}`
    const advice = node('p', 'advice', node('b', '', label('advice')), words(one.advice))
    const made = node(
      'article',
      `card tone-${one.tone}`,
      node('div', 'head', number, node('h3', '', words(one.title)), node('span', 'badge', words(one.severity))),
      node('p', 'facts', one.facts.map(words).join(' · ')),
      node('ul', '', ...one.evidence.map((entry) => node('li', '', words(entry)))),
      advice,
      one.next === null ? null : node('p', 'next', words(one.next)),
      ...one.pictures.map(picture),
      ...one.curves.map(curve),
      one.pictures.length ? node('p', 'next hint', label('hint')) : null,
    )
    made.id = `f${one.number}`
    return made
  }

  function table(one) {
    const cellOf = (tag, text, number) => node(tag, number ? 'number' : '', words(text))
    const head = node('tr', '', ...one.columns.map((column) => cellOf('th', column.label, column.number)))
    const rows = one.rows.map((row) =>
      node('tr', '', ...row.map((text, index) => cellOf('td', text, one.columns[index].number))),
    )
    const panel = node('div', 'panel', node('table', '', node('thead', '', head), node('tbody', '', ...rows)))
    panel.tabIndex = 0
    panel.setAttribute('role', 'region')
    panel.setAttribute('aria-label', words(one.title))
    return panel
  }

  function bars(one) {
    const grid = node('div', 'bars')
    const legend = new Map()
    for (const bar of one.bars) {
      const track = node('div', 'track')
      for (const part of bar.parts) {
        const piece = node('span', '')
        piece.style.width = `${100 * part.width}%`
        piece.style.background = `var(--${part.part})`
        piece.title = `${words(part.label)}: ${part.text}`
        track.append(piece)
        if (!legend.has(part.part)) legend.set(part.part, part)
      }
      track.setAttribute('role', 'img')
      track.setAttribute('aria-label', bar.parts.map((part) => `${words(part.label)}: ${part.text}`).join(', '))
      grid.append(node('span', '', words(bar.label)), track, node('span', 'mean', words(bar.text)))
    }
    const single = one.bars.length === 1
    const list = node('ul', 'legend')
    for (const part of legend.values()) {
      const swatch = node('span', 'swatch')
      swatch.style.background = `var(--${part.part})`
      list.append(node('li', '', swatch, words(part.label), single ? node('span', 'value', part.text) : null))
    }
    return node('div', 'panel', grid, list)
  }

  // Pictures of proofs: tracks with their rows over time, zoomed and moved inside the file.

  const ROW = 15
  const GAP = 7
  const LABELS = 150
  const AXIS = 20
  const FONT = '11px system-ui, sans-serif'
  const COLOURS = { kernel: 'computing', collective: 'communication', comm_task: 'communication' }
  Object.assign(COLOURS, { copy: 'exposed_copy', wait: 'idle_collective', sync: 'idle_sync', gc: 'idle_gc' })

  // Stretches of a whole rank have no name but what is done in them.
  const nameOf = (slice) => slice.name || partName(slice.kind)
  const partName = (kind) =>
    kind === 'kernel' ? label('computing') : kind === 'copy' ? label('copy') : label('communication')

  function picture(one) {
    const canvas = node('canvas', '')
    const view = { from: 0, to: one.dur_ns }
    const height = AXIS + one.tracks.reduce((sum, track) => sum + track.rows * ROW + GAP, 0)
    const draw = () => drawPicture(canvas, one, view, height)
    const zoom = (factor, around = (view.from + view.to) / 2) => {
      const least = Math.max(1, one.dur_ns / 1e5)
      const length = Math.min(one.dur_ns, Math.max(least, (view.to - view.from) * factor))
      const share = (around - view.from) / (view.to - view.from)
      move(around - share * length, length)
    }
    const move = (from, length) => {
      view.from = Math.min(Math.max(0, from), one.dur_ns - length)
      view.to = view.from + length
      draw()
    }
    interact(canvas, one, view, zoom, move)
    redraw.push(draw)
    const title = proof(
      `rank ${one.rank}`,
      one.steps.length ? `${label('step')} ${stepsText(one.steps)}` : '',
      label('from_start').replace('{time}', duration(one.at_ns)),
      one.slices_left_out ? `${one.slices_left_out} ${label('left_out')}` : '',
    )
    canvas.setAttribute('role', 'img')
    canvas.setAttribute('aria-label', title)
    const tools = node(
      'div',
      'bar',
      node('span', 'grow', title),
      button('+', () => zoom(0.5)),
      button('−', () => zoom(2)),
      button(label('whole'), () => move(0, one.dur_ns)),
    )
    tools.children[1].setAttribute('aria-label', label('zoom_in'))
    tools.children[2].setAttribute('aria-label', label('zoom_out'))
    const made = node('div', 'picture', tools, canvas)
    return made
  }

  const proof = (...places) => label('proof').replace('{place}', places.filter(Boolean).join(' · '))

  // Steps that follow each other are a stretch.
  function stepsText(steps) {
    const [first, last] = [steps[0], steps.at(-1)]
    if (steps.length > 1 && last - first === steps.length - 1) return `${first}–${last}`
    return steps.length > 4 ? `${steps.slice(0, 4).join(', ')}, …` : steps.join(', ')
  }

  // Memory over time or by step, with what the device has and the moment that the finding is about.
  function curve(one) {
    const bySteps = one.steps.length > 0
    const times = bySteps ? one.steps.map((_, index) => index) : one.time_ns
    const end = Math.max(1, times.at(-1) ?? 1) + (bySteps ? 1 : 0)
    const most = Math.max(1, ...one.allocated_bytes, ...(one.reserved_bytes ?? []), one.capacity_bytes ?? 0)
    const x = (time) => (1000 * time) / end
    const y = (size) => 100 - (94 * size) / most
    // A value holds until the next one.
    const stairs = (sizes) => sizes.map((size, at) => `H${x(times[at])}V${y(size)}`).join('') + `H${x(end)}`
    const drawing = shape('svg', { viewBox: '0 0 1000 100', preserveAspectRatio: 'none', role: 'img' })
    drawing.append(shape('path', { d: `M0 100${stairs(one.allocated_bytes)}V100Z`, class: 'allocated' }))
    if (one.others_bytes && one.capacity_bytes)
      drawing.append(shape('path', { d: `M0 6V${y(most - one.others_bytes)}H1000V6Z`, class: 'others' }))
    if (one.reserved_bytes)
      drawing.append(shape('path', { d: `M0 ${y(one.reserved_bytes[0])}${stairs(one.reserved_bytes)}`, class: 'reserved' }))
    if (one.capacity_bytes) drawing.append(shape('path', { d: `M0 ${y(one.capacity_bytes)}H1000`, class: 'capacity' }))
    if (one.moment_ns !== null) drawing.append(shape('path', { d: `M${x(one.moment_ns)} 0V100`, class: 'moment' }))
    const last = one.allocated_bytes.at(-1) ?? 0
    const told = bySteps
      ? [`${label('held')}: ${gibibytes(last)}`, `${label('step')} ${one.steps[0]}–${one.steps.at(-1)}`]
      : [
          `${label('allocated')}: ≤ ${gibibytes(Math.max(...one.allocated_bytes))}`,
          one.reserved_bytes ? `${label('reserved')}: ≤ ${gibibytes(Math.max(...one.reserved_bytes))}` : '',
          one.capacity_bytes ? `${label('capacity')}: ${gibibytes(one.capacity_bytes)}` : '',
          one.others_bytes ? `${label('others')}: ${gibibytes(one.others_bytes)}` : '',
        ]
    const title = proof(`rank ${one.rank}`, one.device ?? '', ...told)
    drawing.setAttribute('aria-label', title)
    return node('div', 'picture curve', node('div', 'bar', title), drawing)
  }

  // Drawings are made of what the one in the template is made of: the file holds no address.
  const drawings = document.getElementById('drawing').namespaceURI

  function shape(tag, attributes) {
    const made = document.createElementNS(drawings, tag)
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
    return made
  }

  function gibibytes(size) {
    const [worth, unit] = size >= 2 ** 30 ? [2 ** 30, 'GiB'] : [2 ** 20, 'MiB']
    return `${Number((size / worth).toPrecision(4))} ${unit}`
  }

  function drawPicture(canvas, one, view, height) {
    const width = canvas.clientWidth || canvas.parentElement.clientWidth
    const scale = window.devicePixelRatio || 1
    canvas.style.height = `${height}px`
    canvas.width = Math.round(width * scale)
    canvas.height = Math.round(height * scale)
    const style = getComputedStyle(root)
    const colour = (name) => style.getPropertyValue(`--${name}`).trim()
    const pen = canvas.getContext('2d')
    pen.scale(scale, scale)
    pen.font = FONT
    pen.textBaseline = 'middle'
    const x = (time) => LABELS + ((time - view.from) / (view.to - view.from)) * (width - LABELS)
    pen.fillStyle = colour('proof')
    const left = Math.max(LABELS, x(one.proof_start_ns))
    pen.fillRect(left, 0, Math.max(2, x(one.proof_end_ns) - left), height)
    drawAxis(pen, one, view, width, colour)
    let top = AXIS
    for (const track of one.tracks) {
      pen.fillStyle = colour('ink-2')
      pen.fillText(clipped(pen, track.name, LABELS - 12), 6, top + ROW / 2)
      for (const slice of track.slices) drawSlice(pen, slice, x, top, width, colour)
      top += track.rows * ROW + GAP
      pen.fillStyle = colour('line')
      pen.fillRect(0, top - GAP / 2, width, 1)
    }
  }

  function drawSlice(pen, slice, x, top, width, colour) {
    const start = Math.max(LABELS, x(slice.start_ns))
    const end = Math.min(width, x(slice.start_ns + slice.dur_ns))
    if (end < LABELS || start > width) return
    const y = top + slice.row * ROW
    const long = Math.max(1, end - start - 0.5)
    pen.fillStyle = colour(COLOURS[slice.kind] ?? 'host_slice')
    pen.fillRect(start, y, long, ROW - 2)
    if (slice.proves) {
      pen.strokeStyle = colour('critical')
      pen.lineWidth = 1.5
      pen.strokeRect(start + 0.75, y + 0.75, Math.max(1, long - 1.5), ROW - 3.5)
    }
    if (long > 28) {
      pen.fillStyle = COLOURS[slice.kind] ? colour('slice_ink') : colour('ink')
      pen.fillText(clipped(pen, nameOf(slice), long - 6), start + 3, y + ROW / 2 - 1)
    }
  }

  function drawAxis(pen, one, view, width, colour) {
    const room = view.to - view.from
    const raw = room / 5
    const power = 10 ** Math.floor(Math.log10(raw))
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw)
    for (let time = Math.ceil(view.from / step) * step; time < view.to; time += step) {
      const at = LABELS + ((time - view.from) / room) * (width - LABELS)
      pen.fillStyle = colour('line')
      pen.fillRect(at, 0, 1, AXIS)
      pen.fillStyle = colour('ink-2')
      if (at < width - 60) pen.fillText(`+${duration(time)}`, at + 4, AXIS / 2)
    }
  }

  function clipped(pen, text, room) {
    if (pen.measureText(text).width <= room) return text
    let length = Math.floor((text.length * room) / pen.measureText(text).width)
    while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > room) length -= 1
    return length > 1 ? `${text.slice(0, length)}…` : ''
  }

  function duration(nanoseconds) {
    const scales = [
      [1e9, 's'],
      [1e6, 'ms'],
      [1e3, 'µs'],
    ]
    const [worth, unit] = scales.find(([least]) => Math.abs(nanoseconds) >= least) ?? [1, 'ns']
    return `${Number((nanoseconds / worth).toPrecision(6))} ${unit}`
  }

  function interact(canvas, one, view, zoom, move) {
    const timeAt = (event) => {
      const box = canvas.getBoundingClientRect()
      const share = (event.clientX - box.left - LABELS) / (box.width - LABELS)
      return view.from + Math.max(0, share) * (view.to - view.from)
    }
    canvas.addEventListener(
      'wheel',
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return
        event.preventDefault()
        zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event))
      },
      { passive: false },
    )
    let held = null
    canvas.addEventListener('pointerdown', (event) => {
      held = { x: event.clientX, from: view.from }
      canvas.setPointerCapture(event.pointerId)
    })
    canvas.addEventListener('pointerup', () => (held = null))
    canvas.addEventListener('pointermove', (event) => {
      if (held) {
        const room = canvas.getBoundingClientRect().width - LABELS
        const length = view.to - view.from
        move(held.from - ((event.clientX - held.x) / room) * length, length)
      }
      point(canvas, one, timeAt(event), event, (view.to - view.from) / canvas.clientWidth)
    })
    canvas.addEventListener('pointerleave', () => tip.remove())
    canvas.addEventListener('dblclick', (event) => zoom(0.5, timeAt(event)))
  }

  const tip = node('div', 'tip')

  function point(canvas, one, time, event, pixel) {
    const y = event.clientY - canvas.getBoundingClientRect().top
    let top = AXIS
    for (const track of one.tracks) {
      const row = Math.floor((y - top) / ROW)
      top += track.rows * ROW + GAP
      const hit = track.slices.find(
        (each) => each.row === row && each.start_ns - pixel <= time && time <= each.start_ns + each.dur_ns + pixel,
      )
      if (!hit) continue
      tip.textContent = `${nameOf(hit)} · ${duration(hit.dur_ns)}`
      tip.style.left = `${Math.min(event.clientX + 12, window.innerWidth - 280)}px`
      tip.style.top = `${event.clientY + 14}px`
      document.body.append(tip)
      return
    }
    tip.remove()
  }

  prefersDark.addEventListener('change', (event) => setTheme(event.matches ? 'dark' : 'light'))
  window.addEventListener('resize', drawAll)
  window.addEventListener('beforeprint', () => setTheme('light'))
  show()
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView()
})()
