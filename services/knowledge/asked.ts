/** Wordings of questions by the section that answers them. */
export interface Asked {
  /** By section, as in `quotas#how-many-calls-are-there`. */
  readonly bySection: ReadonlyMap<string, readonly string[]>
  /** Questions of kinds that no page answers. */
  readonly unanswered: readonly string[]
}

const UNANSWERED = 'nothing'

export const NOTHING_ASKED: Asked = { bySection: new Map(), unanswered: [] }

/**
 * Reads `asked.txt`: a line `@page#section`, then one wording a line. Lines before the first section are for editors.
 *
 * @example readAsked('@prices#prices\nhow much is it\n').bySection.get('prices#prices') // ['how much is it']
 */
export function readAsked(text: string): Asked {
  const bySection = new Map<string, string[]>()
  let wordings: string[] = []
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line.startsWith('@')) {
      wordings = bySection.get(line.slice(1)) ?? []
      bySection.set(line.slice(1), wordings)
    } else if (line !== '') wordings.push(line)
  }
  const unanswered = bySection.get(UNANSWERED) ?? []
  bySection.delete(UNANSWERED)
  return { bySection, unanswered }
}
