// Adds to pages that are complete without it: newer parts as they come, buttons that copy, and questions before forms
// that cannot be taken back.
function say(words, isLive) {
  const status = document.getElementById('live')
  if (!status || status.textContent === words) return
  status.textContent = words
  status.classList.toggle('on', isLive)
}

/** Replaces what changed; what has the focus keeps it, and what is unfolded stays so. */
function replaceFresh(page) {
  for (const old of document.querySelectorAll('[data-fresh]')) {
    const fresh = page.getElementById(old.id)
    if (!fresh || fresh.outerHTML === old.outerHTML) continue
    const { activeElement: active } = document
    const href = old.contains(active) ? active.getAttribute('href') : null
    const unfolded = [...old.querySelectorAll('details')].map(({ open }) => open)
    old.replaceWith(fresh)
    for (const [index, one] of fresh.querySelectorAll('details').entries())
      one.open = unfolded[index] ?? false
    if (href !== null) fresh.querySelector(`[href="${CSS.escape(href)}"]`)?.focus({ preventScroll: true })
  }
}

const { refresh } = document.body.dataset
if (refresh) {
  let shown
  const readAgain = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch(location.href, { headers: { accept: 'text/html' } })
        const text = await answer.text()
        if (!answer.ok) throw new Error(answer.statusText)
        if (text !== shown) {
          replaceFresh(new DOMParser().parseFromString(text, 'text/html'))
          dispatchEvent(new Event('refreshed'))
        }
        shown = text
        say('live', true)
      } catch {
        say('not live: trying again', false)
      }
    }
    setTimeout(() => void readAgain(), refresh * 1_000)
  }
  void readAgain()
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
