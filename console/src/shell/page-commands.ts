import { useEffect } from 'react'

export interface Command {
  readonly name: string
  readonly note: string
  readonly run: () => void
}

let shown: readonly Command[] = []

/** Offers commands in the menu of commands as long as the page is shown. */
export function usePageCommands(commands: readonly Command[]): void {
  useEffect(() => {
    shown = commands
    return () => {
      shown = []
    }
  })
}

/** The commands of the page that is shown. */
export const pageCommands = (): readonly Command[] => shown
