// Adds liveness to pages that are complete without it: newer parts as they come, buttons that copy, and a look at what
// a form would do while it is filled in.
let state
const say = (...told) => {
  state = told
  const status = document.getElementById('live')
  if (!status) return
  status.textContent = told[0]
  status.classList.toggle('on', told[1])
}

function replacePart(id, markup) {
  const old = document.getElementById(id)
  if (!old) return
  const active = old.contains(document.activeElement) ? document.activeElement : null
  const made = document.createElement(old.tagName === 'TD' || old.tagName === 'TR' ? 'tbody' : 'div')
  made.innerHTML = old.tagName === 'TD' ? `<tr>${markup}</tr>` : markup
  const fresh = made.querySelector(`[id="${CSS.escape(id)}"]`)
  if (!fresh) return
  old.replaceWith(fresh)
  if (old.tagName === 'TD') fresh.classList.add('changed')
  if (active) {
    const href = active.getAttribute('href')
    const same = href === null ? null : fresh.querySelector(`[href="${CSS.escape(href)}"]`)
    same?.focus({ preventScroll: true })
  }
}

const { live } = document.body.dataset
if (live && 'EventSource' in window) {
  const source = new EventSource(live)
  source.addEventListener('open', () => say('live', true))
  source.addEventListener('error', () => say('not live: trying to connect again', false))
  source.addEventListener('parts', ({ data }) => {
    for (const [id, markup] of Object.entries(JSON.parse(data))) replacePart(id, markup)
    say(...state)
  })
  addEventListener('pagehide', () => source.close())
}

for (const box of document.querySelectorAll('.copy')) {
  if (!navigator.clipboard) break
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(box.querySelector('pre').textContent)
      button.textContent = 'Copied'
    } catch {
      button.textContent = 'Not allowed here'
    }
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2000)
  }
  button.addEventListener('click', () => void copy())
  box.append(button)
}

for (const form of document.querySelectorAll('form[data-confirm]')) {
  form.addEventListener('submit', (event) => {
    if (!confirm(form.dataset.confirm)) event.preventDefault()
  })
}

/** The crosshair: time, prices and volume of the candle under the pointer, and the price at its height. */
for (const chart of document.querySelectorAll('svg[data-bars]')) {
  const bars = JSON.parse(chart.dataset.bars)
  if (bars.length === 0) continue
  const [begin, end, left, right] = chart.dataset.x.split(' ').map(Number)
  const [low, high, bottom, top] = chart.dataset.y.split(' ').map(Number)
  const make = (kind, className) => {
    const part = document.createElementNS('http://www.w3.org/2000/svg', kind)
    part.setAttribute('class', className)
    chart.append(part)
    return part
  }
  const [lines, told, level] = [make('path', 'cross'), make('text', 'told'), make('text', 'told')]
  const number = (value) => value.toLocaleString('en', { maximumSignificantDigits: 6 })
  const clear = () => {
    lines.setAttribute('d', '')
    told.textContent = ''
    level.textContent = ''
  }
  chart.addEventListener('pointermove', ({ clientX, clientY }) => {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(chart.getScreenCTM().inverse())
    if (x < left || x > right || y < top || y > bottom) return clear()
    const at = begin + ((x - left) / (right - left)) * (end - begin)
    const bar = bars.findLast(([openTime]) => openTime <= at)
    if (!bar) return clear()
    const [openTime, ...values] = bar
    const [open, highest, lowest, close, volume] = values.map(number)
    lines.setAttribute('d', `M${x} ${top}V${bottom}M${left} ${y}H${right}`)
    const time = new Date(openTime).toISOString().slice(0, 16).replace('T', ' ')
    told.textContent = `${time}  open ${open}  high ${highest}  low ${lowest}  close ${close}  volume ${volume}`
    told.setAttribute('x', left + 4)
    told.setAttribute('y', top + 12)
    level.textContent = number(low + ((bottom - y) / (bottom - top)) * (high - low))
    level.setAttribute('x', right + 6)
    level.setAttribute('y', y + 4)
  })
  chart.addEventListener('pointerleave', clear)
}
