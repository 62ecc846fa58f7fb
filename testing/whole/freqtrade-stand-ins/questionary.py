Separator = prompt = None
