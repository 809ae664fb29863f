const WIDTH = 40

export interface ProgressBar {
  draw(done: number, of: number, text: string): void
  clear(): void
}

/** A bar on a terminal; elsewhere a line for each tenth. On stderr, since stdout has the program's output. */
export function createProgressBar(out: NodeJS.WriteStream = process.stderr): ProgressBar {
  let last = ''
  return {
    draw(done, of, text) {
      const share = of === 0 ? 1 : done / of
      const filled = Math.round(share * WIDTH)
      const line = `  ${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${Math.round(share * 100)} %  ${text}`
      if (out.isTTY) {
        // A line that wraps could not be redrawn.
        out.write(`\r\x1b[2K${line.slice(0, (out.columns || 80) - 1)}`)
        return
      }
      const tenth = `${Math.floor(share * 10)} ${text.replace(/[\d,]+/g, '')}`
      if (tenth !== last) out.write(`${line}\n`)
      last = tenth
    },
    clear() {
      if (out.isTTY) out.write('\r\x1b[2K')
    },
  }
}
