from ast import *
