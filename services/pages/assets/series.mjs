// Draws a series with lightweight-charts: candles and volume, regimes, calls with what became of them, the barriers and
// the range ahead. The page is complete without it: its table holds the same.
const figure = document.getElementById('chart')
const legend = document.getElementById('chart-values')
const { library, exchange, coin, timeframe } = figure.dataset
const lengthMs = Number(figure.dataset.length)
const { CandlestickSeries, HistogramSeries, createChart, createSeriesMarkers } = await import(library)

const PAGE = 300
/** Bars that a page keeps: beyond them it reads no further into the past. */
const MOST_BARS = 6_000
const REGIMES = {
  TRENDING_UP: ['--buy', 'trending up'],
  TRENDING_DOWN: ['--sell', 'trending down'],
  RANGING: ['--line', 'ranging'],
  VOLATILE: ['--warn', 'volatile'],
}

/** Verdicts and bars by the close of their bar, in seconds. */
const verdicts = new Map()
const bars = new Map()
let next = figure.dataset.after ?? null
let isReading = false

const secondsOf = (iso) => Date.parse(iso) / 1_000
const priceText = (value) =>
  value.toLocaleString('en', { maximumSignificantDigits: 6, useGrouping: value >= 1_000 })
const percentText = (share) =>
  `${share < 0 ? '−' : '+'}${Math.abs(100 * share).toLocaleString('en', { maximumSignificantDigits: 3 })} %`
const dateText = (seconds) => `${new Date(1_000 * seconds).toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** A colour of the style sheet as a canvas takes it. */
function colour(name, opacity = 1) {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  figure.append(probe)
  const [red, green, blue] = getComputedStyle(probe).color.match(/[\d.]+/g)
  probe.remove()
  return `rgba(${red}, ${green}, ${blue}, ${opacity})`
}

async function read(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null)
  const answer = await fetch(`${path}?${new URLSearchParams(given)}`)
  return answer.ok ? answer.json() : undefined
}

async function readBars(from, to) {
  for (let open = from; open !== null && open < to; ) {
    const answer = await read('/api/bars', { exchange, coin, timeframe, from: open, to })
    if (answer === undefined) return
    for (const bar of answer.bars) bars.set((bar.openTime + lengthMs) / 1_000, bar)
    open = answer.next
  }
}

/** Reads a page of verdicts with the bars of the same time. @returns whether the chart changed */
async function readPage(after, limit) {
  const path = ['/api/series', exchange, coin, timeframe]
    .map(encodeURIComponent)
    .join('/')
    .replaceAll('%2F', '/')
  const history = await read(path, { after, limit })
  if (history === undefined) return undefined
  const { rows } = history
  const before = JSON.stringify(rows.map(({ bar_close: close }) => verdicts.get(secondsOf(close))))
  const isJoined = rows.some((row) => verdicts.has(secondsOf(row.bar_close)))
  for (const row of rows) verdicts.set(secondsOf(row.bar_close), row)
  const to = rows.length > 0 ? Date.parse(rows[0].bar_close) : Date.parse(history.market_time)
  const from = rows.length > 0 ? Date.parse(rows.at(-1).bar_close) - lengthMs : to - PAGE * lengthMs
  const missing = rows.filter((row) => !bars.has(secondsOf(row.bar_close)))
  if (rows.length === 0 || missing.length > 0)
    await readBars(missing.length > 0 ? Date.parse(missing.at(-1).bar_close) - lengthMs : from, to)
  return { next: history.next, count: rows.length, isJoined, isNew: before !== JSON.stringify(rows) }
}

/** The calls that begin a stretch of the same call: a mark on each bar would hide the price. */
function begun(rows) {
  return rows.filter(({ call }, index) => call !== 'HOLD' && call !== rows[index - 1]?.call)
}

const chart = createChart(figure, {
  autoSize: true,
  layout: { attributionLogo: false, fontFamily: getComputedStyle(document.body).fontFamily },
  timeScale: { timeVisible: true, rightOffset: 2, minBarSpacing: 1 },
  rightPriceScale: { scaleMargins: { top: 0.06, bottom: 0.26 } },
  handleScroll: { vertTouchDrag: false },
  localization: { timeFormatter: dateText },
})
const candles = chart.addSeries(CandlestickSeries, {})
const volume = chart.addSeries(HistogramSeries, {
  priceScaleId: 'volume',
  priceFormat: { type: 'volume' },
  priceLineVisible: false,
  lastValueVisible: false,
})
volume.priceScale().applyOptions({ scaleMargins: { top: 0.8, bottom: 0.05 } })
const strip = chart.addSeries(HistogramSeries, {
  priceScaleId: 'regime',
  priceLineVisible: false,
  lastValueVisible: false,
  base: 0,
})
strip.priceScale().applyOptions({ scaleMargins: { top: 0.97, bottom: 0 } })
const marks = createSeriesMarkers(candles, [])
let levels = []
/** Places on the time axis, those ahead of the newest bar among them. */
let places = 0

/** The way of each call to its end, and the cones of the range ahead. */
const overlay = { paths: [], cones: [] }
candles.attachPrimitive({
  paneViews: () => [{ zOrder: () => 'bottom', renderer: () => ({ draw: drawOverlay }) }],
})

function drawOverlay(target) {
  const place = ([time, value]) => [
    chart.timeScale().timeToCoordinate(time),
    candles.priceToCoordinate(value),
  ]
  target.useMediaCoordinateSpace(({ context }) => {
    for (const { points, stroke, fill } of [...overlay.cones, ...overlay.paths]) {
      const corners = points.map(place)
      if (corners.some(([x, y]) => x === null || y === null)) continue
      context.beginPath()
      for (const [x, y] of corners) context.lineTo(x, y)
      if (fill !== undefined) {
        context.fillStyle = fill
        context.fill()
      } else {
        context.strokeStyle = stroke
        context.lineWidth = 2
        context.stroke()
      }
    }
  })
}

const toneOf = (row) => ({ won: '--buy', lost: '--sell' })[row.outcome?.result] ?? '--dim'

function pathOf(row) {
  const { entry_price: entry, exit_price: exit, decided_at: decided } = row.outcome ?? {}
  if (!entry || !exit) return []
  const end = decided ?? row.valid_until
  const points = [
    [secondsOf(row.bar_close), entry],
    [secondsOf(end), exit],
  ]
  return [{ points, stroke: colour(toneOf(row)) }]
}

function conesOf({ price, bar_close: close, valid_until: until, expected_range: range }) {
  if (range === null) return []
  const cone = (low, high) => ({
    points: [
      [secondsOf(close), price],
      [secondsOf(until), price * (1 + high)],
      [secondsOf(until), price * (1 + low)],
    ],
    fill: colour('--link', 0.16),
  })
  return [cone(range.p10, range.p90), cone(range.p25, range.p75)]
}

function levelsOf({ price, barrier }) {
  return [
    ['upper barrier', price * (1 + barrier)],
    ['lower barrier', price * (1 - barrier)],
  ].map(([title, level]) =>
    candles.createPriceLine({ price: level, title, color: colour('--dim'), lineStyle: 2, lineWidth: 1 }),
  )
}

function draw() {
  const times = [...new Set([...bars.keys(), ...verdicts.keys()])].toSorted((a, b) => a - b)
  if (times.length === 0) return
  const rows = times.flatMap((time) => verdicts.get(time) ?? [])
  const newest = rows.at(-1)
  const isNewest = figure.dataset.after === undefined && newest !== undefined
  const ahead = []
  if (isNewest)
    for (
      let at = times.at(-1) + lengthMs / 1_000;
      at <= secondsOf(newest.valid_until);
      at += lengthMs / 1_000
    )
      ahead.push({ time: at })
  const tone = ({ open, close }) => (close < open ? '--sell' : '--buy')
  candles.setData([
    ...times.map((time) => {
      const { price } = verdicts.get(time) ?? {}
      const bar = bars.get(time) ?? { open: price, high: price, low: price, close: price }
      const { open, high, low, close } = bar
      const grey = verdicts.has(time) ? undefined : colour('--dim', 0.5)
      return {
        time,
        open,
        high,
        low,
        close,
        ...(grey && { color: grey, wickColor: grey, borderColor: grey }),
      }
    }),
    ...ahead,
  ])
  places = times.length + ahead.length
  volume.setData(
    times.flatMap((time) => {
      const bar = bars.get(time)
      return bar === undefined ? [] : [{ time, value: bar.volume, color: colours.get(tone(bar)) }]
    }),
  )
  strip.setData(
    rows.map((row) => ({
      time: secondsOf(row.bar_close),
      value: 1,
      color: colours.get(REGIMES[row.regime][0]),
    })),
  )
  const calls = begun(rows)
  marks.setMarkers(
    calls.map((row) => ({
      time: secondsOf(row.bar_close),
      position: row.call === 'BUY' ? 'belowBar' : 'aboveBar',
      shape: row.call === 'BUY' ? 'arrowUp' : 'arrowDown',
      color: colour(toneOf(row)),
      text: { won: 'won', lost: 'lost' }[row.outcome?.result] ?? '',
      id: row.verdict_id,
    })),
  )
  overlay.paths = calls.flatMap(pathOf)
  overlay.cones = isNewest ? conesOf(newest) : []
  for (const level of levels) candles.removePriceLine(level)
  levels = isNewest ? levelsOf(newest) : []
  const digits = Math.max(0, 5 - Math.floor(Math.log10(bars.values().next().value?.close ?? newest.price)))
  candles.applyOptions({
    priceFormat: { type: 'custom', formatter: priceText, minMove: 10 ** -Math.min(digits, 12) },
  })
}

/** Colours that many points share, half as strong as in text. */
const colours = new Map()

function paint() {
  for (const name of ['--buy', '--sell', '--line', '--warn']) colours.set(name, colour(name, 0.5))
  const [ink, line, up, down] = ['--dim', '--line', '--buy', '--sell'].map((name) => colour(name))
  chart.applyOptions({
    layout: { background: { color: colour('--paper') }, textColor: ink },
    grid: { vertLines: { color: colour('--line', 0.4) }, horzLines: { color: colour('--line', 0.4) } },
    timeScale: { borderColor: line },
    rightPriceScale: { borderColor: line },
    crosshair: { vertLine: { labelBackgroundColor: ink }, horzLine: { labelBackgroundColor: ink } },
  })
  candles.applyOptions({
    upColor: up,
    downColor: down,
    borderUpColor: up,
    borderDownColor: down,
    wickUpColor: up,
    wickDownColor: down,
  })
  draw()
}

/** One line about a bar: its prices, and the verdict at its close. */
function describe(time) {
  const bar = bars.get(time)
  const row = verdicts.get(time)
  const parts = [dateText(time)]
  if (bar !== undefined) {
    const named = ['open', 'high', 'low', 'close'].map((name) => `${name} ${priceText(bar[name])}`)
    parts.push(...named, percentText(bar.close / bar.open - 1), `volume ${priceText(bar.volume)}`)
  }
  if (row !== undefined) {
    const result = row.outcome === null ? 'open' : row.call === 'HOLD' ? '' : row.outcome.result
    parts.push(`${row.call} ${row.confidence} % ${result}`.trim(), REGIMES[row.regime][1])
  }
  return parts.join(' · ')
}

let at
function select(time, isByKey) {
  at = time
  // A pointer passes many bars: only keys speak.
  legend.setAttribute('aria-live', isByKey ? 'polite' : 'off')
  legend.textContent = describe(time)
}
chart.subscribeCrosshairMove(({ time, sourceEvent }) => {
  if (time !== undefined && sourceEvent !== undefined) select(time, false)
})

const openProof = (id) => id !== undefined && location.assign(`/verify/${id}`)
chart.subscribeClick(({ hoveredObjectId }) => openProof(hoveredObjectId))

figure.addEventListener('keydown', (event) => {
  const times = [...bars.keys()].toSorted((a, b) => a - b)
  const here = at === undefined ? times.length : times.indexOf(at)
  const steps = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: times.length - 1 }
  const scale = chart.timeScale()
  const visible = scale.getVisibleLogicalRange()
  if (visible === null) return
  const { from, to } = visible
  if (event.key in steps && times.length > 0) {
    const time = times[Math.min(times.length - 1, Math.max(0, steps[event.key]))]
    select(time, true)
    chart.setCrosshairPosition(bars.get(time).close, time, candles)
    const index = scale.timeToIndex(time)
    const width = to - from
    if (index < from) scale.setVisibleLogicalRange({ from: index - 1, to: index - 1 + width })
    if (index > to) scale.setVisibleLogicalRange({ from: index + 1 - width, to: index + 1 })
  } else if (event.key === '+' || event.key === '-') {
    scale.setVisibleLogicalRange({ from: to - (to - from) * (event.key === '+' ? 0.8 : 1.25), to })
  } else if (event.key === 'Enter') openProof(verdicts.get(at)?.verdict_id)
  else return
  event.preventDefault()
})

async function readOlder() {
  if (isReading || next === null || bars.size > MOST_BARS) return
  isReading = true
  try {
    const page = await readPage(next, PAGE)
    if (page === undefined) return
    next = page.next
    draw()
  } finally {
    isReading = false
  }
}

chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
  if (range !== null && range.from < 20) void readOlder()
})

const first = await readPage(next, PAGE)
next = first?.next ?? null
paint()
const shown = Math.min(bars.size, Math.max(40, Math.round(figure.clientWidth / 7)))
chart.timeScale().setVisibleLogicalRange({ from: places - shown, to: places + 1 })
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', paint)
figure.dataset.drawn = 'true'

// The page tells that it has read itself anew.
if (figure.dataset.after === undefined) {
  const readNewest = async () => {
    const page = await readPage(null, 20)
    // A page that slept for long begins anew.
    if (page?.isJoined === false && verdicts.size > page.count) return location.reload()
    if (page?.isNew) draw()
  }
  addEventListener('refreshed', () => void readNewest())
}
