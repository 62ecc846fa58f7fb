/**
 * The words of a line as a shell parts them: what stands in quotes is one.
 *
 * @example shellWords('payments refund ID --reason "the disk"') // ['payments', 'refund', 'ID', '--reason', 'the disk']
 */
export const shellWords = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|'([^']*)'|\S+/g)].map(([word, double, single]) => double ?? single ?? word)
