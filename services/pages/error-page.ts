import type { ShownRefusal } from '../http/errors.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'

const TITLES: Readonly<Record<number, string>> = {
  400: 'That cannot be read',
  401: 'Sign in first',
  403: 'Not from there',
  404: 'There is nothing here',
  429: 'Too much at once',
  500: 'Something went wrong here',
  503: 'Away for the moment',
}

/** A refusal with what to do about it. */
export function errorPage({ status, code, message, nextStep, requestId }: ShownRefusal): Page {
  const title = TITLES[status] ?? 'That did not work'
  return {
    title,
    isPrivate: true,
    body: html`<h1>${title}</h1>
<p class="lead">${message}</p>
<p>${nextStep}</p>
<p><a href="/">The board</a> · <a href="/docs">Documentation</a> · <a href="/account">Your account</a></p>
<p class="dim"><small>${status} <code>${code}</code>, request <code>${requestId}</code></small></p>`,
  }
}
