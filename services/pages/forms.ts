import { ServiceError } from '../../contracts/errors/errors.ts'
import { note } from './components.ts'
import { type Content, type Html, html } from './html.ts'

/** A refusal of the HTTP interface, unchanged. */
export interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly next_step: string
  readonly details?: { readonly fields?: readonly { readonly field: string; readonly problem: string }[] }
}

/** The input by the name of the field; several values if several were chosen. */
export type Typed = Readonly<Record<string, string | readonly string[] | undefined>>

/** A form after it was refused: the input, and its fault. */
export interface FormState {
  readonly typed: Typed
  readonly refusal?: Refusal | undefined
}

export const EMPTY_FORM: FormState = { typed: {} }

interface FieldOptions {
  readonly label: string
  readonly hint?: Content
}

interface InputOptions extends FieldOptions {
  readonly value?: string
  readonly type?: string
  readonly isRequired?: boolean
  readonly autocomplete?: string
  readonly maxLength?: number
  /** Turns the spelling checker off. */
  readonly isCode?: boolean
}

/** A value that is its own text, or has another. */
type Choice = string | readonly [value: string, text: string]
const pairOf = (choice: Choice) => (typeof choice === 'string' ? ([choice, choice] as const) : choice)

/** The value of a form field; empty without it. @throws ServiceError `invalid_request` for one that is sent twice */
export const textOf = (form: Typed, name: string): string => {
  const value = form[name] ?? ''
  if (typeof value === 'string') return value
  const message = `${name}: is sent ${value.length} times; send it once`
  throw new ServiceError('invalid_request', { message })
}

/** Moves a refusal with this code to a field. */
export const named = (refusal: Refusal, code: string, field: string): Refusal =>
  refusal.code === code ? { ...refusal, details: { fields: [{ field, problem: refusal.message }] } } : refusal

/** The fault and the hint of a field, and the attributes that refer to them. */
function fieldParts({ refusal }: FormState, name: string, hint?: Content) {
  // A fault may be within the field, as in `assets.0`.
  const fault = refusal?.details?.fields?.find(({ field }) => field.split('.')[0] === name)?.problem
  const ids = [hint !== undefined && `${name}-hint`, fault !== undefined && `${name}-fault`].filter(Boolean)
  return {
    aria: html`${ids.length > 0 && html` aria-describedby="${ids.join(' ')}"`}${fault !== undefined && html` aria-invalid="true" autofocus`}`,
    below: html`${fault !== undefined && html`<span class="fault" id="${name}-fault">${fault}</span>`}${hint !== undefined && html`<small id="${name}-hint">${hint}</small>`}`,
  }
}

export function input(state: FormState, name: string, options: InputOptions): Html {
  const { label, type = 'text', isRequired, autocomplete = 'off', maxLength, isCode } = options
  const { aria, below } = fieldParts(state, name, options.hint)
  const value = textOf(state.typed, name) || (options.value ?? '')
  return html`<div class="field"><label for="${name}">${label}</label><input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}"${isRequired && html` required`}${maxLength !== undefined && html` maxlength="${maxLength}"`}${isCode && html` spellcheck="false" autocapitalize="off"`}${aria}>${below}</div>`
}

export function select(state: FormState, name: string, values: readonly Choice[], label: string): Html {
  const { aria, below } = fieldParts(state, name)
  const chosen = textOf(state.typed, name)
  const all = values
    .map(pairOf)
    .map(
      ([value, text]) =>
        html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`,
    )
  return html`<div class="field"><label for="${name}">${label}</label><select id="${name}" name="${name}"${aria}>${all}</select>${below}</div>`
}

/** Boxes of which several may be ticked. */
export function choices(
  state: FormState,
  name: string,
  values: readonly Choice[],
  options: FieldOptions & { readonly chosen?: readonly string[] },
): Html {
  const { below } = fieldParts(state, name, options.hint)
  const typed = state.typed[name]
  const chosen = typed === undefined ? (options.chosen ?? []) : [typed].flat()
  const boxes = values
    .map(pairOf)
    .map(
      ([value, text]) =>
        html`<label><input type="checkbox" name="${name}" value="${value}"${chosen.includes(value) && html` checked`}>${text}</label>`,
    )
  return html`<fieldset><legend>${options.label}</legend><div>${boxes}</div>${below}</fieldset>`
}

/** The refusal, above the form. */
export const refusalNote = (refusal: Refusal | undefined): Html | undefined =>
  refusal && note(html`<p><strong>${refusal.message}</strong></p><p>${refusal.next_step}</p>`, 'bad')

interface ActionOptions {
  readonly tone?: 'bad' | 'main' | ''
  /** Asked first, where scripts run. */
  readonly question?: string
  readonly fields?: Readonly<Record<string, string>>
  readonly label?: string
}

/** A button that sends a form of its own. */
export const action = (path: string, text: string, options: ActionOptions = {}): Html =>
  html`<form class="inline" method="post" action="${path}"${options.question !== undefined && html` data-confirm="${options.question}"`}>${Object.entries(options.fields ?? {}).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<button type="submit" class="small ${options.tone ?? ''}"${options.label !== undefined && html` aria-label="${options.label}"`}>${text}</button></form>`
