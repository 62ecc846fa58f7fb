/** How people ask, by the section that answers: wordings beside its heading. */
export interface Asked {
  /** By section, as in `quotas#how-many-calls-are-there`. */
  readonly bySection: ReadonlyMap<string, readonly string[]>
  /** Questions of kinds that no page answers. */
  readonly unanswered: readonly string[]
}

/** Under it stand the questions that no page answers. */
const NOTHING = 'nothing'

export const NOTHING_ASKED: Asked = { bySection: new Map(), unanswered: [] }

/**
 * Reads `asked.txt`: a line `@page#section`, then one wording a line. Lines before the first section are for its editors.
 *
 * @example readAsked('@prices#prices\nhow much is it\n').bySection.get('prices#prices') // ['how much is it']
 */
export function readAsked(text: string): Asked {
  const bySection = new Map<string, string[]>()
  let wordings: string[] = []
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '') continue
    if (line.startsWith('@')) {
      const section = line.slice(1)
      wordings = bySection.get(section) ?? []
      bySection.set(section, wordings)
    } else wordings.push(line)
  }
  const unanswered = bySection.get(NOTHING) ?? []
  bySection.delete(NOTHING)
  return { bySection, unanswered }
}
