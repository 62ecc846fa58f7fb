import { ERRORS } from '../../contracts/errors/errors.ts'
import type { ShownRefusal } from '../http/errors.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'
import { searchForm } from './pages/docs.ts'

const TITLES: Readonly<Record<number, string>> = {
  400: 'That cannot be read',
  401: 'Sign in first',
  403: 'Not from there',
  404: 'There is nothing here',
  405: 'This address is no page',
  429: 'Too much at once',
  500: 'Something went wrong here',
  503: 'Away for the moment',
}

const MISTYPED = 'It was cut off or mistyped, perhaps. Start from one of these pages.'

/** Words for people, where those of the interface are for programs. */
const WORDS: Readonly<Record<string, readonly [lead: string, next: string]>> = {
  not_found: ['No page has this address.', MISTYPED],
  method_not_allowed: ['A form is sent to this address.', 'Go back to the page with the form.'],
  invalid_request: ['The address, or the form, has a part that cannot be read.', MISTYPED],
}

/** A refusal with what to do about it. */
export function errorPage({ status, code, message, nextStep, requestId }: ShownRefusal): Page {
  const title = TITLES[status] ?? 'That did not work'
  const [lead, next] = WORDS[code] ?? [message, nextStep]
  const saysMore = message !== lead && message !== ERRORS[code].message
  const body = html`<h1>${title}</h1>
<p class="lead">${lead}${saysMore && html` <span class="dim">${message}</span>`}</p>
<p>${next}</p>
${searchForm()}
<p><a href="/">The board</a> · <a href="/track-record">Track record</a> · <a href="/docs">Documentation</a> · <a href="/account">Your account</a></p>
<p class="dim"><small>${status} <code>${code}</code>, request <code>${requestId}</code></small></p>`
  return { title, isPrivate: true, body }
}
