import { useEffect, useEffectEvent } from 'react'

/** Takes the first file that a person drops anywhere on the page. Without this, the browser would leave the page. */
export function useFileDrop(take: (file: File) => void): void {
  const onFile = useEffectEvent(take)
  useEffect(() => {
    const hasFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') ?? false
    const onOver = (event: DragEvent): void => {
      if (hasFiles(event)) event.preventDefault()
    }
    const onDrop = (event: DragEvent): void => {
      if (!hasFiles(event)) return
      event.preventDefault()
      const file = event.dataTransfer?.files[0]
      if (file) onFile(file)
    }
    window.addEventListener('dragover', onOver)
    window.addEventListener('drop', onDrop)
    return () => {
      window.removeEventListener('dragover', onOver)
      window.removeEventListener('drop', onDrop)
    }
  }, [])
}
